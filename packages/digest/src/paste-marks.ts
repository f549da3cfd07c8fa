/** What a pasted block can be, by the marks that its lines bear. */
export type Kind =
  | "stack trace"
  | "log"
  | "JSON"
  | "markup"
  | "table"
  | "listing"
  | "quote"
  | "e-mail"
  | "configuration"
  | "terminal session"
  | "screen"
  | "code"
  | "data"
  | "diff";

/** The mark that a line bears, whatever stands around it. The line is short: patterns may be read from each of its places. */
export function markOf(line: string): Kind | undefined {
  return marks.find(([, mark]) => mark.test(line))?.[0];
}

/** A word in capitals that begins a line of SQL or of a Dockerfile; a person may begin a wish with it. */
export function beginsAsStatement(line: string): boolean {
  return statement.test(line);
}

/** What code looks like; a sentence may look so by chance. */
export function looksLikeCode(line: string): boolean {
  return codeShapes.some((shape) => shape.test(line));
}

const level = "(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)";
const upperKeyword =
  "(?:SELECT|FROM|WHERE|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP|VALUES|SET|(?:LEFT |RIGHT |INNER |OUTER )?JOIN|ON|GROUP BY|ORDER BY|LIMIT|HAVING|AND|OR|UNION|WITH|RETURNING|RUN|COPY|WORKDIR|CMD|ENV|EXPOSE|ENTRYPOINT|ARG|LABEL|VOLUME|HEALTHCHECK)";

const statement = new RegExp(`^\\s*${upperKeyword} \\S`);

/** The marks of what programs write, the surest first. */
const marks: readonly (readonly [Kind, RegExp])[] = [
  ["table", /^[^|]+ \| [^|]+ \| [^|]/],
  ["quote", /^\s?>(?:\s|>|$)/],
  ["e-mail", /^(?:From|To|Cc|Subject|Sent|Reply-To): \S/],
  ["stack trace", /^\s*at (?:.{1,300}\(.*\)|\S.*:\d+|[\w.<>$]+)\s*$|^ {3}at \S.* in \S/],
  ["stack trace", /^\s*File ".+", line \d+/],
  [
    "stack trace",
    /^(?:Traceback \(most recent|Caused by: |\s*Suppressed: |\s+\.\.\. \d+ (?:more|common)|goroutine \d+ \[|thread '.*panicked at|panic: |stack backtrace:|note: run with `|Stack trace:$|PHP (?:Fatal|Warning|Notice)|\[signal )/,
  ],
  [
    "stack trace",
    /^(?:Uncaught |Unhandled |Exception in thread ".*" )?[\w.$:]{0,100}(?:Error|Exception)(?: \[\w+\])?(?:: |$)/,
  ],
  ["stack trace", /^\s*\d+: +(?:0x[\da-f]+ - )?[\w<][\w<>: {}#]*::/],
  [
    "stack trace",
    /^\s+\S+\.\w{1,5}:\d+(?::\d+)?(?: \+0x[\da-f]+)?\s*$|^\s*(?:from )?\S+:\d+:in [`']|^#\d+\s+(?:0x[\da-f]+|\{main\}|\S+\(\d+\):)|^\S*@\S+:\d+:\d+$/,
  ],
  [
    "stack trace",
    /^\s*-->\s\S+:\d+|^\s*\d* \|(?:\s|$)|^\s+[\^~]+(?:\s|$)|^E {2,}\S|^\s+= (?:note|help): |^error\[\w+\]: /,
  ],
  ["log", /^\S+\.\w{1,5}(?::\d+(?::\d+)?:?|\(\d+,\d+\):|: In function) \S/],
  ["log", /^\W?\d{4}[-/.]\d\d[-/.]\d\d[T ,]+\d\d:\d\d|^\W?\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}:\d\d/],
  [
    "log",
    /^[[(]?\d\d:\d\d:\d\d\b|^\[\d{1,2}[:/.]\d\d|^[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d |^\d{1,2}[:.]\d\d (?:[AP]M )?(?:- )?\S{1,30}:\s/,
  ],
  [
    "log",
    /^\d{1,3}(?:\.\d{1,3}){3} \S+ \S+ \[|^[IWEF]\d{4} \d\d:\d\d|\blevel=\w+ |^\[[\d. ]+\] \w|^< (?:HTTP\/|[\w-]+: )|^<$/,
  ],
  ["log", new RegExp(`^\\S{0,30}\\s?\\[?${level}\\s?(?:\\]|:|\\||  )|^\\[\\w+\\] ${level}\\b`)],
  [
    "log",
    /^npm (?:ERR!|WARN|error|warn|notice|verb|info)(?:\s|$)|^#\d+ (?:\[|\d+\.\d+ |DONE|CACHED|sha256|ERROR|exporting|transferring)|^[\w.-]{1,40} +\| /,
  ],
  [
    "log",
    /^={3,}.*={3,}$|^-{3,} .* -{3,}$|^_{3,} .* _{3,}$|^\s?(?:PASS|FAIL|FAILED|PASSED)\s+\S*[./:]\S*|^(?:not )?ok \d+ |^\s+[●✓✕×✗✔❯√] ?\S|^\w[\w ]{0,30}: {2,}\S|^[A-Z]\w+(?: \w+)?: +\d+ [a-z]+, \d|\[ *\d{1,3}%\]$|^\s*[A-Z][\w ]{1,30} {2,}\d+ (?:passed|failed|skipped)\b/,
  ],
  [
    "listing",
    /[├└│┬]──|^[│|] {2,}[├└│|]|^[dlbcps-][rwxsStT-]{9}[@+.]? |^total \d+\w?$|^\d+ directories, \d+ files$/,
  ],
  [
    "listing",
    /^commit [\da-f]{7,40}\b|^(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): {1,8}\S|^[*|\\/ ]{0,12}(?=[a-f]*\d)[\da-f]{7,12} \S/,
  ],
  [
    "listing",
    /^\s+(?:modified|deleted|new file|renamed|both modified): +\S|^(?: [MADRCU]|[MADRCU][MADRCU ]|\?\?) \S+$|^\s\S+ +\| +\d+ [+-]*$|^ {2}\(use "git |^On branch \S+$|^(?:Your branch is|Changes (?:not staged|to be committed)|Untracked files:|no changes added|nothing (?:added )?to commit)\b/,
  ],
  [
    "table",
    /^\s*\|.*\|\s*$|^\s*[-+|=─━═┼╪╋:]{5,}[-+|=─━═┼╪╋: ]*$|^\(\d+ rows?\)$|^\s*[┌└├╔╚╠│║┃].*[┐┘┤╗╝╣│║┃]\s*$/,
  ],
  [
    "data",
    /^-----(?:BEGIN|END) [A-Z ]+-----$|^\s*[\w+/]{60,}={0,2}\s*$|^[\da-f]{4,8}:? {1,2}(?:[\da-f]{2,4} {1,2}){4}/,
  ],
  ["JSON", /^\s*"[^"]+"\s*:\s?\S|^\s*\{\s*"[^"]+"\s*:|^\s*[[{]\s*$|^\s*[}\]]+,?\s*$/],
  [
    "markup",
    /^\s*<(?:[A-Za-z][\w:.-]*(?:\s[^<>]*)?\/?>|\/[A-Za-z][\w:.-]*>|!--|!DOCTYPE|\?xml|[A-Za-z][\w:.-]*\s+[\w:@.-]+=)/,
  ],
  [
    "configuration",
    /^(?:export )?[A-Z][A-Z\d_]+=|^FROM \S+:\S+|^---$|^\[[\w.-]+\]$|^[\w.-]+ ?= ?["'[{\d]|^(?:apiVersion|openapi|swagger|version): \S+$/,
  ],
  ["configuration", /^\s+(?!-)[\w.$/'-]+:(?:\s\S|$)|^\.PHONY\b/],
  [
    "terminal session",
    /^(?:\([\w.-]+\) )?(?:\S{1,40}@\S{1,60}.{0,60}|[➜→] {1,3}\S.{0,80})?[$❯➜»✗%](?: \S|\s*$)|^\S+@\S+[:~ ].{0,60}[#%] \S|^PS [A-Z]:\\.{0,100}>|^[A-Z]:\\.{0,100}>|^>>> |^\.\.\. {2,}\S|^(?:In|Out) ?\[\d+\]:|^mysql> |^\w+=[#>] /,
  ],
  ["screen", /^[\s\p{P}\p{S}]*[─━═▀▄█░▒▓■⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]{3,}|^\s[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] /u],
  ["diff", /^\s*\+\s{0,3}\d+\s(?:[-+\s]|$)|^\+\s+[\w.]+\s*[={]/],
  [
    "code",
    /^\s*(?:\/\/|\/\*|\*\/|#include|#!|#define|#if|#end)|^(?:import|package|using) [\w.]+;?$|^from [\w.]+ import \S|^import .{1,200} from ["']|;\s(?:do|then)$|^\t(?![-*+•\d])\S|^\s{2,}[+~-]\s+\S.*[={]/,
  ],
];

const codeShapes = [
  statement,
  /[{;]\s*(?:(?:\/\/|#).*)?$/,
  /^\s*[})\]]+/,
  /^\s*[\w$.]+\(.*\)[;,]?$/,
  /=>/,
  /^\s*(?:const|let|var|def|class|func|fn|function|pub|public|private|protected|static|return|if|for|while|else|elif|elsif|try|catch|except|import|from|export|package|use|using|struct|enum|impl|interface|type|async|await|end|raise|throw|yield)\b.*(?:[(){}=<>;]|:\s*$)/,
  /^\s*@\w+/,
  /^\s*[\w$.[\]]+ [-+*/|&:?]?= \S/,
  /^\s*-- /,
];
