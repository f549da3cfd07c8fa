import { isSentence, isWordless, type Measure, measure } from "./line-measure.ts";

/**
 * What a line looks like. `own` is a sentence or a list item, `made` is not words or has the mark of a kind of paste,
 * `either` goes with what stands around it.
 */
export interface LineShape {
  verdict: "blank" | "own" | "either" | "made";
  /** The mark that it bears, where it bears one. */
  kind?: Kind | undefined;
  chars: number;
}

export type Kind =
  | "stack trace"
  | "log"
  | "JSON"
  | "markup"
  | "table"
  | "listing"
  | "quote"
  | "configuration"
  | "terminal session"
  | "screen"
  | "code"
  | "data"
  | "diff";

const mostReadChars = 400;

export function lineShapes(lines: readonly string[]): LineShape[] {
  return lines.map((line, at) => shapeOf(line, lines[at - 1] ?? "", lines[at + 1] ?? ""));
}

function shapeOf(line: string, before: string, after: string): LineShape {
  const chars = line.trim().length;
  if (chars === 0) return { verdict: "blank", chars };
  const head = line.slice(0, mostReadChars);
  const size = measure(head);
  const kind = kindOf(head, size) ?? (isOfScreen(line, before, after) ? "screen" : undefined);
  if (kind !== undefined) return { verdict: "made", kind, chars };
  if (columns(head) > 0 && columns(head) === columns(after || before))
    return { verdict: "made", kind: "table", chars };
  return { verdict: verdictOf(head, size), chars };
}

const listItem =
  /^\s{0,20}(?:[-*+•·–—▪◦‣]|\(?[\p{L}\p{N}]{1,3}[.)、）]|[(（][\p{L}\p{N}]{1,3}[)）])\s{0,4}(?:\[[ xX]\]\s)?(?=\S)/u;

function verdictOf(line: string, size: Measure): LineShape["verdict"] {
  const item = listItem.exec(line)?.[0];
  if (item !== undefined) return measure(line.slice(item.length)).plain >= 1 ? "own" : "either";
  if (isSentence(size)) return /^(?:\s{2}|\t)/.test(line) ? "either" : "own";
  return isWordless(size) ? "made" : "either";
}

function kindOf(line: string, size: Measure): Kind | undefined {
  const sure = marks.find(([, mark]) => mark.test(line))?.[0];
  if (sure !== undefined) return sure;
  return isSentence(size) && size.wordChars >= 0.75 * size.chars
    ? undefined
    : codeMarks.test(line)
      ? "code"
      : undefined;
}

const level = "(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)";

/** The marks of what programs write; each is read from a line's first characters and takes linear time. */
const marks: readonly (readonly [Kind, RegExp])[] = [
  ["quote", /^\s?>(?:\s|>|$)/],
  ["stack trace", /^\s*at (?:.{1,300}\(.*\)|\S.*:\d+)\s*$/],
  ["stack trace", /^\s*File ".+", line \d+/],
  [
    "stack trace",
    /^(?:Traceback \(most recent|Caused by: |\s*Suppressed: |\s+\.\.\. \d+ (?:more|common)|goroutine \d+ \[|thread '.*panicked at|panic: |stack backtrace:|note: run with `RUST)/,
  ],
  [
    "stack trace",
    /^(?:Uncaught |Unhandled |Exception in thread ".*" )?[\w.$:]{0,100}(?:Error|Exception)(?: \[\w+\])?(?:: |$)/,
  ],
  ["stack trace", /^\s*\d+: +(?:0x[\da-f]+ - )?[\w<][\w<>: {}#]*::/],
  [
    "stack trace",
    /^\s+\S+\.\w{1,5}:\d+(?::\d+)?(?: \+0x[\da-f]+)?\s*$|^\s*(?:from )?\S+:\d+:in [`']|^#\d+ +\S+.{0,200}[(:]\d+\)?/,
  ],
  [
    "stack trace",
    /^\s*-->\s\S+:\d+|^\s*\d+ \| |^\s*\| +[\^~-]+|^\s+[\^~]+\s*$|^E {2,}\S|^\S+\.\w{1,5}(?::\d+:(?:\d+:?)?|\(\d+,\d+\):)\s/,
  ],
  ["log", /^\W?\d{4}[-/.]\d\d[-/.]\d\d[T ,]+\d\d:\d\d/],
  [
    "log",
    /^[[(]?\d\d:\d\d:\d\d\b|^\[\d{1,2}[:/.]\d\d|^[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d |^\d{1,2}[:.]\d\d (?:[AP]M )?(?:- )?\S{1,30}:\s/,
  ],
  ["log", /^\d{1,3}(?:\.\d{1,3}){3} \S+ \S+ \[|^[IWEF]\d{4} \d\d:\d\d|\blevel=\w+ |^\[[\d. ]+\] \w/],
  ["log", new RegExp(`^\\S{0,30}\\s?\\[?${level}\\s?(?:\\]|:|\\||  )|^\\[\\w+\\] ${level}\\b`)],
  [
    "log",
    /^npm (?:ERR!|WARN|error|warn|notice|verb|info)\b|^#\d+ (?:\[|\d+\.\d+ |DONE|CACHED|sha256|ERROR|exporting|transferring)|^\S{1,40} +\| /,
  ],
  ["listing", /[├└│┬]──|^[│|] {2,}[├└│|]|^[dlbcps-][rwxsStT-]{9}[@+.]? |^total \d+\w?$/],
  [
    "listing",
    /^commit [\da-f]{7,40}\b|^(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): {1,8}\S|^[*|\\/ ]{0,12}(?=[a-f]*\d)[\da-f]{7,12} \S/,
  ],
  [
    "listing",
    /^\s+(?:modified|deleted|new file|renamed|both modified): +\S|^(?: [MADRCU]|[MADRCU][MADRCU ]|\?\?) \S+$|^\s\S+ +\| +\d+ [+-]*$|^ {2}\(use "git /,
  ],
  ["listing", /^\s*(?:\.{0,2}|~|[A-Z]:)?[\\/]?[\w@.+-]+(?:[\\/][\w@.+()[\]-]+)+[\\/]?\s*$/],
  [
    "table",
    /^\s*\|.*\|\s*$|^\s*[-+|=─━═┼╪╋:]{5,}[-+|=─━═┼╪╋: ]*$|^[^|]+ \| [^|]+ \| |^\(\d+ rows?\)$|^\s*[┌└├╔╚╠│║┃].*[┐┘┤╗╝╣│║┃]\s*$/,
  ],
  ["JSON", /^\s*"[^"]+"\s*:\s?\S|^\s*\{\s*"[^"]+"\s*:|^\s*[[{]\s*$|^\s*[}\]]+,?\s*$/],
  [
    "markup",
    /^\s*<(?:[A-Za-z][\w:.-]*(?:\s[^<>]*)?\/?>|\/[A-Za-z][\w:.-]*>|!--|!DOCTYPE|\?xml|[A-Za-z][\w:.-]*\s+[\w:@.-]+=)/,
  ],
  [
    "configuration",
    /^(?:export )?[A-Z][A-Z\d_]+=|^(?:FROM|RUN|COPY|WORKDIR|CMD|ENV|EXPOSE|ENTRYPOINT|ADD|ARG|LABEL|VOLUME|HEALTHCHECK) [^a-z ]*\S*[\d:[/=.]/,
  ],
  [
    "configuration",
    /^\s+(?:- )?[\w.$/-]+:(?:\s\S|$)|^---$|^\[[\w.-]+\]$|^[\w.-]+ ?= ?["'[{\d]|^(?:apiVersion|openapi|swagger|version): \S+$/,
  ],
  [
    "terminal session",
    /^(?:\([\w.-]+\) )?(?:\S{1,40}@\S{1,60}.{0,60}|[➜→] {1,3}\S.{0,80})?[$❯➜»✗%] \S|^\S+@\S+[:~ ].{0,60}[#%] \S|^PS [A-Z]:\\.{0,100}>|^[A-Z]:\\.{0,100}>|^>>> |^\.\.\. {2,}\S|^(?:In|Out) ?\[\d+\]:|^mysql> |^\w+=[#>] /,
  ],
  ["screen", /^[\s\p{P}\p{S}]*[─━═▀▄█░▒▓■⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]{3,}|^\s[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] /u],
  ["diff", /^\s*\+\s{0,3}\d+ /],
  ["code", /^\s*(?:\/\/|\/\*|\*\/|#include|#!|#define|#if|#end)/],
];

/** Shapes that a sentence may have by chance: they count where a line is not mostly words. */
const codeMarks =
  /[{;]\s*(?:(?:\/\/|#).*)?$|^\s*[})\]]+[\s;,)]*|^\s*[\w$.]+\(.*\)[;,]?$|=>|^\s*(?:const|let|var|def|class|func|fn|function|pub|public|private|protected|static|return|if|for|while|else|elif|elsif|try|catch|except|import|from|export|package|use|using|struct|enum|impl|interface|type|async|await|end|raise|throw|yield)\b.*[(){}=<>:;"'.]|^\s*@\w+|^\s*(?:SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|VALUES|SET|(?:LEFT |RIGHT |INNER )?JOIN|ON|GROUP BY|ORDER BY|LIMIT|HAVING|AND|OR|UNION|WITH|BEGIN|COMMIT)\b.*[\w"'`*;,)]$|^\s*[\w$.[\]]+ [-+*/|&:?]?= \S|^\s*-- /;

/** A terminal fills its lines with spaces to one width. */
function isOfScreen(line: string, before: string, after: string): boolean {
  if (!/[ \t]\r?$/.test(line) || line.length < 40) return false;
  return [before, after].some((other) => other.length === line.length) || / {6}\r?$/.test(line);
}

/** Gaps of two spaces or more, tabs, or commas and semicolons without a space: 0 where there are fewer than two. */
function columns(line: string): number {
  const head = line.slice(0, mostReadChars).trim();
  const gaps = head.match(/\S(?: {2,}|\t+)(?=\S)/g)?.length ?? 0;
  if (gaps >= 2) return 1_000;
  const commas = head.match(/[,;](?=[^\s,;])|[,;]{2}/g)?.length ?? 0;
  return commas >= 2 ? commas : 0;
}
