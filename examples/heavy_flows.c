/*
 * heavy_flows.c - print the keys of standard input whose bytes reach a
 * threshold, in fixed memory. A line is a key of at most 39 bytes, a blank, and
 * bytes.
 *
 *   cc heavy_flows.c $(pkg-config --cflags --libs umbel) -o heavy_flows
 *   printf 'a 600\nb 100\na 600\n' | ./heavy_flows 1000
 */
#include <umbel/experimental/flows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    umbel_flows_params params = UMBEL_FLOWS_PARAMS_INIT;
    umbel_flows_counts counts;
    umbel_flows *flows = NULL;
    umbel_flow flow;
    umbel_error err;
    char key[UMBEL_FLOW_KEY + 1];
    unsigned bytes;

    params.threshold = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    if (umbel_flows_open(&params, &flows, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    while (scanf("%39s %u", key, &bytes) == 2) {
        umbel_flow_packet packet = {.bytes = bytes, .packets = 1};
        packet.len = (uint8_t)strlen(key);
        memcpy(packet.key, key, packet.len);
        umbel_flows_add(flows, &packet, 1);
    }
    umbel_flows_sort(flows);
    for (size_t i = 0; umbel_flows_row(flows, &i, &flow);)
        printf("%.*s: %llu to %llu bytes\n", (int)flow.len,
               (const char *)flow.key, (unsigned long long)flow.bytes_low,
               (unsigned long long)flow.bytes);
    umbel_flows_count(flows, &counts);
    printf("%llu not named\n", (unsigned long long)counts.unnamed);
    umbel_flows_close(flows);
    return 0;
}
