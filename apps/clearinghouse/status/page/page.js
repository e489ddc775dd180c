/*
 * page.js - keeps the figures of the page fresh.
 *
 * The server writes every figure and draws every graph; this script asks for
 * the page again and takes over what has changed, node by node. So scroll
 * position, focus and selection stay, screen readers announce a new state only, and
 * no figure has two ways to be written.
 */
"use strict";
(function () {
  var PERIOD = 2000, PATIENCE = 8000; // milliseconds
  var figures = document.getElementById("figures");
  var updated = document.getElementById("updated");
  var button = document.getElementById("pause");
  var paused = false, timer = 0, last = new Date();

  function copyAttributes(to, from) {
    Array.from(to.attributes).forEach(function (a) {
      if (!from.hasAttribute(a.name)) to.removeAttribute(a.name);
    });
    Array.from(from.attributes).forEach(function (a) {
      if (to.getAttribute(a.name) !== a.value) to.setAttribute(a.name, a.value);
    });
  }

  function takeOver(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
      old.replaceWith(document.importNode(fresh, true));
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    copyAttributes(old, fresh);
    while (old.childNodes.length > fresh.childNodes.length) old.lastChild.remove();
    Array.from(fresh.childNodes).forEach(function (child, i) {
      if (old.childNodes[i]) takeOver(old.childNodes[i], child);
      else old.appendChild(document.importNode(child, true));
    });
  }

  function show(text) {
    var page = new DOMParser().parseFromString(text, "text/html");
    var fresh = page.getElementById("figures");
    if (!fresh) throw new Error("another document");
    if (page.documentElement.dataset.version !== document.documentElement.dataset.version) {
      location.reload(); // the server was updated, and so was this script
      return;
    }
    takeOver(figures, fresh);
    document.title = page.title;
    last = new Date();
    updated.textContent = "Updated " + last.toLocaleTimeString();
    document.documentElement.className = "";
    void updated.offsetWidth; // lets the fade begin again
    document.documentElement.className = "fresh";
  }

  function showSilence() {
    var state = document.getElementById("state");
    document.documentElement.className = "old";
    document.title = document.title.replace(/^[a-z ]+ - /, "no answer - ");
    updated.textContent = "No answer since " + last.toLocaleTimeString();
    if (!state) return;
    state.className = "state failed";
    var verdict = state.querySelector(".verdict");
    var words = "The server does not answer. These figures are from " + last.toLocaleTimeString() +
        "; look at its log, and whether it runs.";
    if (verdict.textContent !== words) verdict.textContent = words;
  }

  function ask() {
    var giveUp = new AbortController();
    var limit = setTimeout(function () { giveUp.abort(); }, PATIENCE);
    return fetch("/", { cache: "no-store", credentials: "same-origin", signal: giveUp.signal })
      .then(function (answer) {
        if (!answer.ok) throw new Error("status " + answer.status);
        return answer.text();
      })
      .then(show)
      .catch(showSilence)
      .then(function () { clearTimeout(limit); });
  }

  function schedule(wait) {
    clearTimeout(timer);
    if (paused || document.hidden) return;
    timer = setTimeout(function () {
      ask().then(function () { schedule(PERIOD); });
    }, wait);
  }

  button.addEventListener("click", function () {
    paused = !paused;
    button.textContent = paused ? "Resume" : "Pause";
    button.setAttribute("aria-pressed", String(paused));
    if (paused) updated.textContent = "Paused at " + last.toLocaleTimeString();
    schedule(0);
  });
  document.addEventListener("visibilitychange", function () { schedule(0); });
  updated.textContent = "Updated " + last.toLocaleTimeString();
  document.getElementById("controls").hidden = false;
  schedule(PERIOD);
})();
