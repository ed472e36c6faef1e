/* SPDX-License-Identifier: Apache-2.0 */
/* What the host and its plugins agree on. */
#ifndef PLUGIN_H
#define PLUGIN_H

/* What a plugin exports: says what it can do on this machine. The text lives as long as the process. */
typedef const char *PluginReport(void);
#define PLUGIN_REPORT "plugin_report"

#endif
