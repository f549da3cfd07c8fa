/** A line of prose with what its layout says. */
export interface ProseLine {
  text: string;
  bullet: boolean;
  numbered: boolean;
  heading: boolean;
  checkbox?: "open" | "done";
  /** Follows a line that introduces foreign text ("the log says:"). */
  pasted: boolean;
}

export interface Prose {
  lines: ProseLine[];
  /** Lines that are machine text: pasted logs, errors, prompts. Data, never instructions. */
  machine: string[];
}

const MAX_CHARS = 24_000;
const INJECTED =
  /<([a-z][a-z0-9]*(?:[-_][a-z0-9]+)+|system|reminder|context|instructions|stdin|stdout|stderr|output|file|document|pinned|thinking|summary)\b[^>\n]*>/gi;
const PASTE_NOUN =
  /\b(log|logs|output|readme|docs?|documentation|trace|stack ?trace|error|errors|message|console|terminal|snippet|changelog|spec|wiki|confluence|blog|article|tutorial|handbook|manual|guide|stack ?overflow|slack|email|mail|says|said|reads|states|ausgabe|meldung|fehlermeldung|protokoll|sortie|journal|salida|registro|mensaje|saída|messaggio)\b|лог|вывод|ошибк|сообщени|日志|输出|报错|文档|信息|ログ|出力|エラー|ドキュメント|로그|출력|오류|문서/iu;

/** Takes prose out of a message: code, pasted logs, quotations and text injected by programs go. */
export function prose(text: string): Prose {
  const machine: string[] = [];
  const lines: ProseLine[] = [];
  let announced = false;
  for (const paragraph of paragraphs(withoutInjected(clipMiddle(text)))) {
    const isMachine = machineLines(paragraph);
    // A line that introduces foreign text may be followed by a blank line.
    let pasted = announced;
    announced = false;
    paragraph.forEach((raw, at) => {
      const line = raw.trim();
      if (isMachine[at]) machine.push(line);
      else lines.push(proseLine(line, pasted));
      if (!isMachine[at] && !pasted && introduces(line)) {
        pasted = true;
        announced = at === paragraph.length - 1;
      }
    });
  }
  return { lines: joinWrapped(lines), machine };
}

/** The text in paragraphs of lines that are not blank, fenced code left out. */
function paragraphs(text: string): string[][] {
  const found: string[][] = [[]];
  let fenced = false;
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trim();
    if (/^(```|~~~)/.test(line)) {
      fenced = !fenced && !/^```.*```$/.test(line);
      found.push([]);
    } else if (line === "") found.push([]);
    else if (!fenced) found.at(-1)!.push(raw);
  }
  return found.filter((paragraph) => paragraph.length > 0);
}

function introduces(line: string): boolean {
  return /[:：]$/.test(line) && PASTE_NOUN.test(line);
}

/** Share of machine lines from which on a whole paragraph is taken for a paste. */
const PASTE_SHARE = 0.3;

/**
 * Which lines of a paragraph are machine text: those that look it; what is printed after a prompt; indented lines that
 * go on after one; and, in a paragraph with many of them, everything from the first on.
 */
function machineLines(paragraph: readonly string[]): boolean[] {
  const looks = paragraph.map((raw) => isMachineLine(raw, raw.trim()));
  const count = looks.filter(Boolean).length;
  const isPaste = paragraph.length >= 3 && count / paragraph.length >= PASTE_SHARE;
  let running = false;
  let before = false;
  return paragraph.map((raw, at) => {
    const isMachine = looks[at]! || running || (before && /^\s/.test(raw));
    if (looks[at] && (isPaste || PROMPT.test(raw.trim()))) running = true;
    before = isMachine;
    return isMachine;
  });
}

/** A message of megabytes is a paste; what a person wrote stands at its ends. */
function clipMiddle(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  return `${text.slice(0, MAX_CHARS / 2)}\n\n${text.slice(-MAX_CHARS / 2)}`;
}

/** Cuts `<some-tag>…</some-tag>` blocks, which programs inject; linear, an unclosed tag cuts only itself. */
function withoutInjected(text: string): string {
  if (!text.includes("<")) return text;
  let result = "";
  let from = 0;
  const missing = new Set<string>();
  INJECTED.lastIndex = 0;
  for (let match = INJECTED.exec(text); match !== null; match = INJECTED.exec(text)) {
    const close = `</${match[1]}>`;
    const end = missing.has(close) ? -1 : text.indexOf(close, match.index);
    if (end === -1) {
      missing.add(close);
      continue;
    }
    result += `${text.slice(from, match.index)}\n`;
    from = end + close.length;
    INJECTED.lastIndex = from;
  }
  return result + text.slice(from);
}

/** A shell prompt: what follows it, up to a blank line, is output. */
const PROMPT = /^(➜|❯|\$ |% |PS [A-Z]:)|^\S+@\S+[:~].*[$#]/;
const MACHINE_LINE = [
  /^>/,
  /^[+-]\s*\d+\s/,
  /^(\+\+\+|---|@@|diff --git|index [0-9a-f]{7})/,
  /^(➜|❯|→|\$ |% |PS [A-Z]:|#\s*\$)/,
  /^\S+@\S+[:~].*[$#]/,
  /^at .+(\(.+\)|:\d+:\d+\)?)$/,
  /^File ".+", line \d+/,
  /^Traceback /,
  /^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d/,
  /^\[?\d\d:\d\d:\d\d/,
  /^\[?(INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|NOTICE)\b[\]:\s]/,
  /^(Uncaught |Unhandled )?[\w.]*(Error|Exception|Warning)(\s?\[\w+\])?:\s/,
  /^(npm|pnpm|yarn) (ERR!|error|warn|WARN)/,
  /^error(\[\w+\])?(:| TS\d+)/,
  /^(FAIL|PASS|✓|✗|×|✖|not ok|ok \d)\s/,
  /^[─━═│┃┌└├╭╰*_=~\s-]{6,}$/,
  /^\|.*\|$/,
  /^\^+$/,
  /^[\u2190-\u21ff\u2800-\u28ff\u25a0-\u25ff\u23fa\u23bf\u273b]/u,
  /^(~|\/[\w.-]+)\/\S*$/,
  /^[\w./~-]+\.\w+:\d+(:\d+)?:?$/,
  /^(Node\.js v\d|Debugger attached|Waiting for the debugger|Traceback|Caused by:|\.\.\. \d+ more)/,
  /^\/\/|^\/\*|^\*\/|^#!|^#include\b/,
  /^(import|export|const|let|var|function|class|def|return|public|private|package|using|fn|func|type|interface)\s.*[;{}()=]/,
  /^<\/?[a-z][^>]*>/i,
  /^'?(\/|[A-Z]:\\).*\.(png|jpe?g|gif|webp|pdf)'?$/i,
  /^\[[\w./:-]{1,24}\]\s/,
];

function isMachineLine(raw: string, line: string): boolean {
  if (MACHINE_LINE.some((pattern) => pattern.test(line))) return true;
  if (/^(\t| {4,})/.test(raw) && !/^([-*•]|\d+[.)])\s/.test(line) && symbolShare(line) > 0.04) return true;
  return line.length > 12 && symbolShare(line) > 0.16;
}

/** Braces, operators and the like among all characters; path separators and prose punctuation do not count. */
function symbolShare(line: string): number {
  const outsideCode = line.replace(/`[^`]*`/g, "");
  const symbols = outsideCode.match(/[{}[\]();=<>|\\$^~]|=>|::|&&/g);
  return symbols === null ? 0 : symbols.length / outsideCode.length;
}

function proseLine(line: string, pasted: boolean): ProseLine {
  const checkbox = /^(?:[-*•]|\d+[.)])?\s*\[( |x|X|✓|✔)\]\s*/.exec(line);
  const ticked = /^(?:[-*•]\s*)?(✅|☑|✔️?|✓|☐|⬜)\s*/u.exec(line);
  const bullet = /^[-*•·–]\s+/.exec(line);
  const numbered = /^\d{1,2}[.)、．]\s*/.exec(line);
  const heading = /^#{1,6}\s+/.test(line) || /^\*\*[^*]+\*\*:?$/.test(line);
  const mark = checkbox ?? ticked ?? bullet ?? numbered;
  const text = plain(mark === null ? line : line.slice(mark[0].length));
  return {
    text,
    bullet: mark !== null,
    numbered: numbered !== null,
    heading,
    pasted,
    ...(checkbox && { checkbox: checkbox[1] === " " ? ("open" as const) : ("done" as const) }),
    ...(!checkbox &&
      ticked && { checkbox: /[☐⬜]/u.test(ticked[1]!) ? ("open" as const) : ("done" as const) }),
  };
}

/** Markdown emphasis off; code spans stay, they mark values. */
function plain(text: string): string {
  return text
    .replace(/^#{1,6}\s+/, "")
    .replace(/\*\*([^*]+)\*\*/g, "$1")
    .replace(/(^|\s)\*([^*\s][^*]*)\*(?=[\s.,;:!?]|$)/g, "$1$2")
    .replace(/__([^_]+)__/g, "$1")
    .trim();
}

/** Puts hard-wrapped lines together again: a long line without an end, followed by one that goes on in lower case. */
function joinWrapped(lines: ProseLine[]): ProseLine[] {
  const joined: ProseLine[] = [];
  for (const line of lines) {
    const last = joined.at(-1);
    const goesOn =
      last !== undefined && !line.bullet && !line.heading && !last.heading && last.pasted === line.pasted;
    if (
      goesOn &&
      last.text.length >= 70 &&
      last.text.length <= 110 &&
      !/[.!?:;。！？：；]$/.test(last.text) &&
      /^\p{Ll}/u.test(line.text)
    )
      joined[joined.length - 1] = { ...last, text: `${last.text} ${line.text}` };
    else joined.push(line);
  }
  return joined;
}
