/* Text in XML and HTML documents: well-formed whatever it holds.
   Knows nothing of documents. Tested by tests/gate.t and tests/html.t. */
#ifndef STRESS_BASE_XML_H
#define STRESS_BASE_XML_H

#include <stdio.h>

/* As the value of a quoted attribute, or between tags; what XML cannot hold is U+FFFD. */
void xml_text(FILE *out, const char *text);

#endif
