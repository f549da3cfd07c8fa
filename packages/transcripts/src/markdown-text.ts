/**
 * Text from outside with line ends of one kind only, and with what steers a terminal made visible: what some readers
 * take for the end of a line is one for all.
 */
export function wellBehaved(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, "\n")
    .replaceAll(controls, (control) => {
      const code = control.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
    });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;

function oneLine(text: string): string {
  return wellBehaved(text).replaceAll(/\s+/g, " ").trim();
}

/** Text in a code block whose fence is longer than any in the text, so that nothing inside ends it. */
export function codeBlock(text: string, language = ""): string {
  const code = wellBehaved(text).replace(/\n$/, "");
  const fence = "`".repeat(Math.max(3, longestRun(code) + 1));
  return `${fence}${language}\n${code}\n${fence}`;
}

/** One line of text as inline code. */
export function codeSpan(text: string): string {
  const line = oneLine(text);
  const ticks = "`".repeat(longestRun(line) + 1);
  const pad = line.startsWith("`") || line.endsWith("`") || line === "" ? " " : "";
  return `${ticks}${pad}${line}${pad}${ticks}`;
}

/** The same in a table or between stars, where readers differ about bars, stars and ticks that are code. */
export function codeName(text: string): string {
  if (/^[\w ./:@+-]+$/.test(text)) return codeSpan(text);
  const html = htmlText(text).replaceAll(/[*_~[\]]/g, (mark) => `&#${mark.charCodeAt(0)};`);
  return `<code>${html}</code>`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}

/** A name, a label or a message, on one line: it reads as it is, nothing in it is Markdown. */
export function plainText(text: string): string {
  return oneLine(text)
    .replaceAll(/[\\`*[\]|~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<![^ ])#/g, "\\$&")
    .replaceAll(/&(?=[A-Za-z#])/g, "&amp;")
    .replaceAll("<", "&lt;");
}

/** One line of text inside an HTML element, also where a reader looks for Markdown in there. */
export function htmlText(text: string): string {
  return oneLine(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[`\\|]|!(?=\[)|\](?=[(:[])/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

export function quoted(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/** `1234567` as `1,234,567`, whatever the machine's language. */
export function grouped(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}
