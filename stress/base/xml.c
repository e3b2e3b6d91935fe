/* Escapes.
   It must not know elements.
   Tested by tests/gate.t and tests/html.t. */
#include "xml.h"

#include <string.h>

#include "utf8.h"

void xml_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        size_t length = utf8_length(at);
        int is_none = length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;        /* U+FFFE, U+FFFF */
        if (!length || is_none || (*at < 0x20 && !strchr("\t\n\r", *at))) fputs("&#xFFFD;", out);
        else if (length == 1 && strchr("<>&\"\t\n\r", *at)) fprintf(out, "&#%u;", (unsigned)*at);
        else fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
}
