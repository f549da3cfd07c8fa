import { isRecord } from "@bonsai-agent/messages";

/** What can be told of a call's arguments while they are streamed: `{}` before anything can. */
export function parseStreamingJson(text: string | undefined): Record<string, unknown> {
  const value = text === undefined ? undefined : parsed(text);
  return isRecord(value) ? value : {};
}

/** As `JSON.parse`; control characters in strings, and signs that nothing has to escape, are taken as they are meant. */
export function parseJsonWithRepair(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(repairJson(text));
  }
}

/** A text of JSON in whose strings control characters and stray backslashes are escaped. */
export function repairJson(text: string): string {
  return text.replaceAll(/"(?:[^"\\]|\\[\s\S])*"?/g, (string) =>
    string
      .replaceAll(/\\(?!["\\/bfnrt]|u[\da-fA-F]{4})/g, "\\\\")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what JSON does not take
      .replaceAll(/[\u0000-\u001f]/g, (sign) => JSON.stringify(sign).slice(1, -1)),
  );
}

function parsed(text: string): unknown {
  for (const candidate of completions(text)) {
    try {
      return parseJsonWithRepair(candidate);
    } catch {
      // A shorter part may be whole.
    }
  }
  return undefined;
}

/** The text closed where it ends, then where the values before its last commas end. */
function* completions(text: string): Generator<string> {
  const { open, isInString, commas } = scanned(text);
  yield text;
  yield closed(isInString ? `${text.replace(/\\u?[\da-fA-F]{0,3}$/, "")}"` : text, open);
  for (const { at, open: openThere } of commas.reverse()) yield closed(text.slice(0, at), openThere);
}

function closed(text: string, open: string): string {
  return text + [...open].reverse().join("");
}

interface Scan {
  /** What closes the brackets that are open, outermost first. */
  open: string;
  isInString: boolean;
  /** Places where everything before is a whole value: before commas, and behind opening brackets. */
  commas: { at: number; open: string }[];
}

function scanned(text: string): Scan {
  const scan: Scan = { open: "", isInString: false, commas: [] };
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]!;
    if (scan.isInString) {
      if (sign === "\\") at += 1;
      else if (sign === '"') scan.isInString = false;
    } else if (sign === '"') scan.isInString = true;
    else if (sign === "{" || sign === "[") {
      scan.open += sign === "{" ? "}" : "]";
      scan.commas.push({ at: at + 1, open: scan.open });
    } else if (sign === "}" || sign === "]") scan.open = scan.open.slice(0, -1);
    else if (sign === ",") scan.commas.push({ at, open: scan.open });
    // What ended long ago is of no use any more.
    if (scan.commas.length > MOST_PLACES) scan.commas.splice(0, 1);
  }
  return scan;
}

const MOST_PLACES = 64;
