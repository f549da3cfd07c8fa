/** What a `!` in front of the text makes of it. */
export type ShellPrefix = "none" | "shell" | "hiddenShell";

export function shellPrefixOf(text: string): ShellPrefix {
  const start = text.trimStart();
  if (start.startsWith("!!")) return "hiddenShell";
  return start.startsWith("!") ? "shell" : "none";
}
