import type { SummaryKind } from "./summariser.ts";

/** The headings (`## …`) that a summary of each kind is asked for, in order. */
export const summarySections: Readonly<Record<SummaryKind, readonly string[]>> = {
  history: [
    "Goal",
    "Constraints & Preferences",
    "Progress",
    "Key Decisions",
    "Next Steps",
    "Critical Context",
  ],
  turnPrefix: ["Request", "Done So Far", "Needed to Go On"],
  branch: ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"],
};
