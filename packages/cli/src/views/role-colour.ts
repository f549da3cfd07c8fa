import type { Style } from "./line.ts";

/** How each kind of entry looks wherever it is named. */
const styles = new Map<string, Style>(
  Object.entries({
    user: ["bold", "cyan"],
    assistant: "green",
    result: "gray",
    command: "yellow",
    summary: "magenta",
    compaction: "magenta",
    branch: "magenta",
    extension: "blue",
    damaged: "red",
  } satisfies Record<string, Style>),
);

export function kindStyle(kind: string): Style | undefined {
  return styles.get(kind);
}
