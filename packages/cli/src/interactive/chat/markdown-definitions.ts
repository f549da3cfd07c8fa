import { closerOf } from "./markdown-chunks.ts";

/**
 * Markdown leaves out what looks like the address of a link that is named elsewhere: `[INFO]: done`, `[^1]: note`. Here
 * it stays, unless it is an address, and its name stands somewhere else in the text.
 */
export function withDefinitionsSeen(text: string): string {
  if (!text.includes("]:")) return text;
  let closes: ((line: string) => boolean) | undefined;
  const lines = text.split("\n");
  const seen = lines.map((line, at) => {
    if (closes !== undefined) {
      if (closes(line)) closes = undefined;
      return line;
    }
    closes = closerOf(line);
    const { before, name, rest = "" } = definition.exec(line)?.groups ?? {};
    if (before === undefined || name === undefined) return line;
    // The address may stand in the next line.
    const address = rest.trim() || lines[at + 1]?.trim() || "";
    return isAddress(address) && isNamed(text, name) ? line : `${before}[${name}]\\:${rest}`;
  });
  return seen.join("\n");
}

/** At the margin, in a list or a quote; further in is code. */
const definition = /^(?<before> {0,3}(?:(?:[-*+>]|\d{1,9}[.)])\s{0,3})*)\[(?<name>[^\]]+)\]:(?<rest>.*)$/;

function isAddress(text: string): boolean {
  return /^(?:<|[/#]|\.\.?\/|[a-z][a-z\d+.-]*:\S|\S*\w\.\w)/i.test(text);
}

function isNamed(text: string, name: string): boolean {
  if (name.startsWith("^")) return false;
  const named = `[${name}]`.toLowerCase();
  const parts = text.toLowerCase().split(named).slice(1);
  return parts.some((behind) => !behind.startsWith(":"));
}
