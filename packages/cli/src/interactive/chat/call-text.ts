import { printableLines } from "../../views/printable.ts";

/** What a call wrote into a new file; undefined where it made none. */
export function writtenText(args: unknown, details: unknown): string | undefined {
  const { created } = fields(details);
  const { content } = fields(args);
  return created === true && typeof content === "string" && content.trim() !== "" ? content : undefined;
}

/** A command that a call's one line cannot show whole; none where it can. */
export function longCommand(args: unknown): string[] {
  const { command } = fields(args);
  if (typeof command !== "string" || (command.length <= 120 && !command.trim().includes("\n"))) return [];
  return printableLines(command.trim());
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
