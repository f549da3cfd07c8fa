/** A part of a template: text as it stands, or a variable. */
type Part = { text: string } | { variable: string };

/** What is typed of a template so far. */
export interface BegunTemplate {
  /** What stands in front of the variable that is being typed. */
  before: string;
  /** The variable that is being typed, and what there is of it. */
  variable: string;
  value: string;
  /** The variables in front of it. */
  earlier: Readonly<Record<string, string>>;
  /** The text that follows the variable, up to the next one. */
  after: string;
  /** True where nothing has to follow that. */
  isLast: boolean;
}

/** The part of a template in front of its first variable. */
export function templateStart(template: string): string {
  return template.split("{", 1)[0]!;
}

/** Which variable of a template a text has come to; undefined where the text is none of it, or is whole. */
export function begunTemplate(template: string, typed: string): BegunTemplate | undefined {
  const parts = partsOf(template);
  const earlier: Record<string, string> = {};
  let at = 0;
  for (const [index, part] of parts.entries()) {
    if ("text" in part) {
      if (!typed.startsWith(part.text, at)) return undefined;
      at += part.text.length;
      continue;
    }
    const next = parts[index + 1];
    const after = next !== undefined && "text" in next ? next.text : "";
    const end = after === "" ? -1 : typed.indexOf(after, at);
    if (end >= 0) {
      earlier[part.variable] = typed.slice(at, end);
      at = end;
      continue;
    }
    const value = typed.slice(at);
    const isLast = !parts.slice(index + 1).some((each) => "variable" in each);
    return { before: typed.slice(0, at), variable: part.variable, value, earlier, after, isLast };
  }
  return undefined;
}

/** `{a}`, `{+a}`, `{?a,b}`: each name is a variable. */
function partsOf(template: string): Part[] {
  return template.split(/(\{[^}]*\})/).flatMap((piece): Part[] => {
    const inner = /^\{[+#./;?&]?([^}]*)\}$/.exec(piece)?.[1];
    if (inner === undefined) return piece === "" ? [] : [{ text: piece }];
    return inner.split(",").map((name) => ({ variable: name.replace(/\*$|:\d+$/, "") }));
  });
}
