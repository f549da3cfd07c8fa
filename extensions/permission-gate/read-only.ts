import type { ShellCommand } from "./shell-line.ts";

/** Returns true if a program with these arguments only reads. */
type Rule = (args: readonly string[]) => boolean;

const always: Rule = () => true;

/** All arguments that begin with `-` match. */
const onlyFlags =
  (allowed: RegExp): Rule =>
  (args) =>
    args.every((arg) => !arg.startsWith("-") || allowed.test(arg));

const without =
  (refused: RegExp): Rule =>
  (args) =>
    !args.some((arg) => refused.test(arg));

const isExactly =
  (...lines: string[]): Rule =>
  (args) =>
    lines.includes(args.join(" "));

const operands = (args: readonly string[]) => args.filter((arg) => !arg.startsWith("-"));

/** Programs that cannot write a file or run another program, whatever their arguments are. */
const READERS =
  "cat head tail ls wc grep egrep fgrep cut tr nl tac rev paste comm join fold expand column cmp diff pwd echo true false sleep basename dirname realpath readlink stat du df which type whoami id groups uname uptime nproc free ps pgrep md5sum sha1sum sha256sum sha512sum shasum cksum strings od hexdump seq jq printenv";

const RULES: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(READERS.split(" ").map((name) => [name, always])),
  // A subscript of a variable can run a command.
  printf: without(/\$|^-v/),
  test: without(/\$|^-[vR]$/),
  "[": without(/\$|^-[vR]$/),
  env: isExactly(""),
  command: ([flag]) => flag === "-v" || flag === "-V",
  date: onlyDateFormat,
  file: without(/^-[^-]*C|^--c/),
  // The second operand is an output file.
  uniq: (args) => operands(args).length <= 1,
  sort: without(/^-[^-]*o|^--(?:o|co)/),
  tree: without(/^-[^-]*[oR]|^--o/),
  rg: without(/^--(?:pre(?:$|=|-glob)|hostname-bin)/),
  fd: without(/^-[^-]*[xX]|^--ex(?!cl|t)/),
  find: onlyFlags(
    /^-(?:\d.*|[HLP]|a|and|o|or|not|i?name|i?path|i?wholename|i?regex|regextype|type|xtype|(?:max|min)depth|depth|[amc]?newer\w*|[amc](?:time|min)|size|empty|perm|user|group|nouser|nogroup|links|inum|samefile|readable|writable|executable|print0?|printf|ls|prune|quit|xdev|mount|follow|true|false)$/,
  ),
  sed: isReadingSed,
  awk: isReadingAwk,
  gawk: isReadingAwk,
  mawk: isReadingAwk,
  git: isReadingGit,
  gh: ([noun = "", verb = "", ...rest]) =>
    /^(?:pr|issue|run|release) (?:list|view|diff|checks|status)$/.test(`${noun} ${verb}`) &&
    !rest.some((arg) => /^-[^-]*w|^--w/.test(arg)),
  go: isExactly("version"),
  npm: isReadingPackages,
  pnpm: isReadingPackages,
};

/** Programs that print their version and end. */
const VERSIONED =
  /^(?:node|npm|pnpm|yarn|bun|deno|python3?|pip3?|uv|ruby|php|perl|java|go|cargo|rustc|tsc|git|gcc|g\+\+|clang|cmake|make|docker)$/;

/** Returns true if a command is surely one that only reads. */
export function isReadOnly({ words, writes }: ShellCommand): boolean {
  const [program, ...args] = words;
  if (program === undefined || (program.isPattern && program.text !== "[")) return false;
  if (writes.some(({ text }) => text !== "/dev/null")) return false;
  const name = program.text;
  const texts = args.map(({ text }) => text);
  if (VERSIONED.test(name) && texts.join(" ") === "--version") return true;
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
  if (rule === always) return true;
  // The shell may make an option of such a word.
  if (rule === undefined || args.some(({ text, isPattern }) => isPattern && /^[*?[{]/.test(text)))
    return false;
  return rule(texts);
}

/** An operand without `+` sets the clock. */
function onlyDateFormat(args: readonly string[]): boolean {
  return args.every((arg, at) => {
    const isValue = /^(?:-d|--date|-r)$/.test(args[at - 1] ?? "");
    return isValue || /^(?:\+.*|-u|--utc|-d|-r|--date(?:=.*)?|-R|-I\w*|--iso-8601(?:=\w+)?)$/s.test(arg);
  });
}

/** Text up to a mark; a bracket expression is closed before the mark, because programs read an open one differently. */
const sedText = (mark: string) =>
  String.raw`(?:\\.|\[\^?[^\]^\\\n${mark}][^\]\\\n${mark}]*\]|[^[\\\n${mark}])*`;
const SED_ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/${sedText("/")}/)`;
const SED_SUBSTITUTION = [..."/|,#"]
  .map((mark) => `\\${mark}${sedText(mark)}\\${mark}${sedText(mark)}\\${mark}`)
  .join("|");
/** A script of addresses with `p`, `d`, `q`, `=` and substitutions: none of them writes a file or runs a program. */
const SED_SCRIPT = new RegExp(
  String.raw`^[\s;]*(?:(?:${SED_ADDRESS}(?:,\s*(?:${SED_ADDRESS}|\+\d+))?)?\s*!?\s*(?:[pdq=]|s(?:${SED_SUBSTITUTION})[gpiI\d]*)?(?:[\s;]+|$))*$`,
);

function isReadingSed(args: readonly string[]): boolean {
  const scripts: string[] = [];
  let isScript = !args.some((arg) => /^-[nErsuz]*e$/.test(arg));
  let isValue = false;
  for (const arg of args) {
    if (isValue) scripts.push(arg);
    else if (arg.startsWith("-")) {
      if (!/^-(?:[nErsuz]+|[nErsuz]*e|-quiet|-regexp-extended)$/.test(arg)) return false;
    } else if (isScript) {
      scripts.push(arg);
      isScript = false;
    }
    isValue = !isValue && /^-[nErsuz]*e$/.test(arg);
  }
  return scripts.length > 0 && scripts.every((script) => SED_SCRIPT.test(script));
}

/** A program without output to files, pipes, other programs and included files. */
function isReadingAwk(args: readonly string[]): boolean {
  let at = 0;
  while (/^-[Fv]/.test(args[at] ?? "")) at += args[at]!.length === 2 ? 2 : 1;
  const [program = "-", ...files] = args.slice(at);
  if (program.startsWith("-") || files.some((file) => file.startsWith("-"))) return false;
  return !/[|@]|>(?!=)|\b(?:system|getline|close|fflush)\b/.test(program);
}

const GIT_READERS =
  "status log diff show blame shortlog describe rev-parse rev-list ls-files ls-tree cat-file merge-base name-rev grep count-objects for-each-ref show-ref cherry range-diff diff-tree diff-index diff-files check-ignore check-attr whatchanged version";
/** `--output=FILE` writes a file; `-O` and `--open-files-in-pager` run a program. */
const GIT_WRITES_NOTHING = without(/^--(?:ou|op|ext)|^-[^-]*O/);
const LISTING =
  /^(?:-[arv]+|-vv|--list|--all|--remotes|--show-current|--(?:no-)?(?:merged|contains)(?:=.*)?|--points-at(?:=.*)?|--(?:sort|format)=.*|--(?:no-)?column|-n\d*)$/;

const GIT_RULES: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(GIT_READERS.split(" ").map((name) => [name, GIT_WRITES_NOTHING])),
  branch: (args) => onlyFlags(LISTING)(args) && listsOnly(args),
  tag: (args) =>
    onlyFlags(/^-l$|^-n\d*$|^--(?:list|sort=.*|format=.*|(?:no-)?(?:merged|contains))$/)(args) &&
    listsOnly(args),
  remote: (args) => isExactly("", "-v", "--verbose")(args) || args[0] === "get-url",
  config: (args) =>
    onlyFlags(
      /^--?(?:l|list|get|get-all|get-regexp|global|local|system|worktree|show-origin|show-scope|name-only|null|z)$/,
    )(args) && operands(args).every((arg, at) => at === 0 && /\.|^list$/.test(arg)),
  stash: ([verb, ...rest]) => (verb === "list" || verb === "show") && GIT_WRITES_NOTHING(rest),
  reflog: ([verb = "show", ...rest]) => verb === "show" && GIT_WRITES_NOTHING(rest),
  worktree: ([verb]) => verb === "list",
  submodule: isExactly("", "status"),
};

/** `git branch NAME` and `git tag NAME` write; with one of these flags the name is a pattern or a commit. */
function listsOnly(args: readonly string[]): boolean {
  return (
    operands(args).length === 0 || /^(?:-l|--(?:list|points-at|(?:no-)?(?:merged|contains)))$/.test(args[0]!)
  );
}

function isReadingGit(args: readonly string[]): boolean {
  let at = 0;
  while (/^--no-(?:pager|optional-locks)$/.test(args[at] ?? "")) at += 1;
  if (args[at] === "-C" && /^(?!\/|~|.*\.\.)/.test(args[at + 1] ?? "")) at += 2;
  const [verb = "", ...rest] = args.slice(at);
  return Object.hasOwn(GIT_RULES, verb) && GIT_RULES[verb]!(rest);
}

function isReadingPackages([verb = "", ...rest]: readonly string[]): boolean {
  // A package from a repository would be fetched and built.
  const isPlain = (arg: string) =>
    /^(?:--?(?:json|all|long|parseable|depth=\d+|a|g|l|p|r)|(?:@[\w.-]+\/)?[\w.-]+(?:@[\w.^~-]+)?)$/.test(
      arg,
    );
  return /^(?:ls|list|view|outdated|why|explain)$/.test(verb) && rest.every(isPlain);
}
