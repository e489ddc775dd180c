"""Ten newsletters as people get them: many structures, languages and charsets.

Written for the tests. Names of senders and places are those that are reserved for
examples.
"""
from email.message import EmailMessage
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

LIBRARY = """Dear readers,

the town library opens its new reading room on Monday. The room has forty seats,
six of them with a lamp of their own, and a view over the river. From the first day
on you can borrow the tablets that the friends of the library have paid for.

On Thursday evening Mary reads from her book about the winter on the islands. Tea
is free, cake is not. Please bring back the books that you took in June: there are
others who wait for them, and the list for the new crime story is long.

Yours, the team at the desk
"""
GARTEN = """Liebe Mitglieder,

der Herbst ist da, und mit ihm die Zeit, in der wir die Beete für den Winter
fertig machen. Am Samstag treffen wir uns um neun Uhr am großen Tor. Bringt bitte
Handschuhe, eine Schaufel und gute Laune mit, für Suppe und heißen Tee ist gesorgt.

Wer noch Äpfel hat: die Presse steht ab Montag im Hof. Pro Kiste gibt es drei
Flaschen Saft, den Rest bekommt die Schule. Der Vorstand dankt allen, die beim Fest
geholfen haben; die Kasse ist so gut gefüllt wie seit Jahren nicht mehr.
"""
CINEMA = """Chers amis du cinéma, voici le programme de la semaine. Mardi soir, à vingt
heures, nous montrons un film muet avec un pianiste dans la salle : on dit que c'est
le plus beau du siècle passé. Jeudi, les élèves du lycée présentent leurs courts
métrages, et l'entrée est libre pour tous ceux qui viennent à vélo. Samedi, la séance
pour les enfants commence à dix heures, suivie d'un goûter. N'oubliez pas la carte de
fidélité : la dixième place est offerte."""
COCINA = """Queridos amigos de la cocina:

esta semana les traemos tres recetas para los días de lluvia. La primera es una sopa de
calabaza con jengibre, que se prepara en media hora y gusta hasta a los niños. La
segunda, un arroz con setas del bosque; si no las encuentran en el mercado, también
sirven las secas. Y de postre, peras al vino con una pizca de canela.

El curso del año que viene empieza en enero. Quedan ocho plazas para los martes y
cinco para los viernes. ¡No se lo pierdan!
"""
VIAGGI = """Cari soci, la gita di primavera ci porta quest'anno sul lago. Si parte alle
sette dal piazzale della stazione, e si torna la sera prima di cena. Dopo la visita al
giardino, dove le camelie sono già in fiore, ci aspetta un pranzo con il pesce del
posto. Chi non mangia pesce lo dica per tempo alla segreteria. Il prezzo è di quaranta
euro a testa, il battello è compreso; per i ragazzi è la metà. Ci si può iscrivere fino
alla fine del mese, poi i posti vanno a chi è in lista."""
MACHI = """町のみなさまへ

秋の祭りは今年も神社の広場で行います。土曜日の朝十時から夕方まで、屋台と踊りをお楽しみください。
雨の時は体育館に場所を移します。子どもたちの太鼓は二時から、盆踊りは四時からの予定です。
駐車場はありませんので、電車かバスでお越しください。手伝える方は、金曜日の夜七時に公民館へ集まってください。

図書室の新しい本の案内は次の号に載せます。どうぞよろしくお願いいたします。
"""
KNIGI = """Дорогие читатели!

На этой неделе в нашем магазине новые книги о море, о горах и о людях, которые там
живут. В среду вечером к нам придёт автор повести о старом маяке: она расскажет, как
искала письма смотрителя, и ответит на вопросы. Чай и печенье за наш счёт.

До конца месяца на все детские книги скидка десять процентов. Если вы уже прочли то,
что купили летом, принесите книгу на полку обмена: кто-то её очень ждёт.
"""
TEATR = """Drodzy widzowie, w listopadzie zapraszamy na trzy premiery. Pierwsza to komedia
o rodzinie, która dziedziczy młyn i nie wie, co z nim począć. Druga jest dla dzieci:
lalki, światło i muzyka na żywo. Trzecia, najcięższa, opowiada o zimie, której nikt w
mieście nie zapomniał. Bilety można kupić w kasie lub zamówić przez telefon, a w środy
uczniowie płacą połowę ceny. Po spektaklu zapraszamy na rozmowę z aktorami w foyer."""
NISI = """Αγαπητοί φίλοι του νησιού,

το καλοκαίρι τελείωσε, αλλά το σπίτι των γραμμάτων μένει ανοιχτό όλο τον χειμώνα. Κάθε
Τετάρτη διαβάζουμε μαζί ένα παλιό βιβλίο, και την Κυριακή το πρωί περπατάμε ως τον φάρο
με όποιον καιρό κι αν έχει. Φέτος μαζεύουμε χρήματα για τη στέγη του σχολείου· όποιος
μπορεί, ας αφήσει κάτι στο κουτί δίπλα στην πόρτα.

Το πλοίο φεύγει πια μόνο δύο φορές την εβδομάδα: Δευτέρα και Παρασκευή.
"""
POSTS = ("""Hello list, I have put the draft of the new bylaws on the wiki. Please read the part
about the election of the board, since we vote on it in two weeks. Comments are welcome
here or at the meeting. The minutes of the last one are there too, thanks to all who
took the time to write down what was said.
""", """Hi all, the server moves to the new rack on Sunday night. Mail will wait for an hour or
two, nothing gets lost. If you run jobs on it, stop them before ten, and start them
again when I write that it is done. The old disks go to the school, after I wiped them.
""")

PAGE = """<html><head><title>{title}</title><style>p {{ color: #333 }}</style></head>
<body bgcolor="#ffffff"><table width="600"><tr><td><h1>{title}</h1>
<p>{body}</p>
<p><a href="https://{host}/unsubscribe?u=4711">{bye}</a></p></td></tr></table></body></html>
"""
DOT = bytes.fromhex("47494638396101000100800000ffffff00000021f90401000000002c00000000010001000002024401003b")


def head(mail, name, host, subject, list_id=True):
    mail["From"] = f"News <news@{host}>"
    mail["To"] = "reader@example.com"
    mail["Subject"] = subject
    mail["Date"] = "Tue, 17 Nov 2026 06:00:00 +0000"
    mail["Message-ID"] = f"<{name}@{host}>"
    if list_id:
        mail["List-Id"] = f"{subject} <{name}.{host}>"
        mail["List-Unsubscribe"] = f"<https://{host}/unsubscribe>"
    return mail


def page(title, body, host, bye):
    return PAGE.format(title=title, body=body.strip().replace("\n\n", "</p>\n<p>"),
                       host=host, bye=bye)


def library():
    mail = head(EmailMessage(), "library", "town.example", "News from the library")
    mail.set_content(LIBRARY, charset="us-ascii")
    return mail


def garten():
    mail = head(EmailMessage(), "garten", "garten.example", "Der Garten im Herbst")
    mail.set_content(GARTEN, charset="utf-8", cte="quoted-printable")
    mail.add_alternative(page("Der Garten im Herbst", GARTEN, "garten.example", "Abmelden"),
                         subtype="html", charset="utf-8", cte="quoted-printable")
    return mail


def cinema():
    mail = head(EmailMessage(), "cinema", "cinema.example", "Le programme de la semaine", False)
    mail.set_content(page("Le programme", CINEMA, "cinema.example", "Se désabonner"),
                     subtype="html", charset="iso-8859-1", cte="quoted-printable")
    return mail


def cocina():
    mail = head(EmailMessage(), "cocina", "cocina.example", "Tres recetas")
    mail.set_content(COCINA, charset="utf-8", cte="base64")
    mail.add_attachment(b"%PDF-1.4\n" + bytes(range(256)) * 8, maintype="application",
                        subtype="pdf", filename="recetas.pdf")
    return mail


def viaggi():
    mail = head(EmailMessage(), "viaggi", "viaggi.example", "La gita di primavera")
    mail.set_content(page("La gita", VIAGGI + '<img src="cid:dot">', "viaggi.example", "Cancellati"),
                     subtype="html", charset="utf-8", cte="base64")
    mail.add_related(DOT, maintype="image", subtype="gif", cid="<dot>")
    return mail


def machi():
    return head(MIMEText(MACHI, "plain", "iso-2022-jp"), "machi", "machi.example", "Aki no matsuri")


def knigi():
    mail = head(EmailMessage(), "knigi", "knigi.example", "Новые книги")
    mail.set_content(KNIGI, charset="koi8-r", cte="base64")
    return mail


def teatr():
    mail = head(EmailMessage(), "teatr", "teatr.example", "Listopad w teatrze")
    mail.set_content(TEATR, charset="iso-8859-2", cte="quoted-printable")
    mail.add_alternative(page("Listopad", TEATR, "teatr.example", "Wypisz się"), subtype="html",
                         charset="iso-8859-2", cte="quoted-printable")
    mail.add_attachment("BEGIN:VCALENDAR\nEND:VCALENDAR\n", subtype="calendar")
    return mail


def nisi():
    mail = head(EmailMessage(), "nisi", "nisi.example", "Winter on the island", False)
    mail.set_content(NISI, charset="iso-8859-7", cte="8bit")
    return mail


def posts():
    mail = head(MIMEMultipart("mixed"), "posts", "lists.example", "Club digest, Vol 7, Issue 2")
    mail.attach(MIMEText("Today's topics: the bylaws, and the server that moves.\n"))
    digest = MIMEMultipart("digest")
    for i, text in enumerate(POSTS):
        digest.attach(MIMEMessage(head(MIMEText(text), f"post{i}", "lists.example", f"Post {i}")))
    mail.attach(digest)
    mail.attach(MIMEText("-- \nclub mailing list\nhttps://lists.example/club\n"))
    return mail


ALL = (library, garten, cinema, cocina, viaggi, machi, knigi, teatr, nisi, posts)


def newsletters():
    """Pairs of a name and the bytes of a mail."""
    return [(make.__name__, make().as_bytes()) for make in ALL]
