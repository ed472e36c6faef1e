/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the host program and its plugins. */
#ifndef PLUGIN_H
#define PLUGIN_H

/* The function that a plugin exports: returns a text that says what the plugin can do on this machine. The
 * text is valid until the process exits. */
typedef const char *PluginReport(void);
#define PLUGIN_REPORT "plugin_report"

#endif
