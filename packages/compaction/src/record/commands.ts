import { textHead } from "@bonsai-agent/messages";

/** One program with its arguments, without redirections, leading variable assignments and shell keywords. */
interface SimpleCommand {
  /** The value of each argument, quotes resolved. */
  words: readonly string[];
  /** Each argument as it is written. */
  raws: readonly string[];
  /** True if it reads the output of the command before it. */
  isPiped: boolean;
  /** The folder in which the command runs, if a `cd` before it names one. */
  folder?: string | undefined;
}

export interface Command extends SimpleCommand {
  /** As written, but without wrappers such as `sudo`; runners such as `npx` stay. */
  text: string;
  /** The program or its script, and the words that may be verbs: no options, files or quoted texts. */
  names: readonly string[];
  /** Two runs with the same words here are the same command. */
  identity: readonly string[];
  isLookup: boolean;
  /** True if it tests, builds or checks. */
  isCheck: boolean;
}

/** Commands that share one exit code: they are between `;`, `&` and line ends. */
export interface CommandGroup {
  /** Excludes commands that run only after a failure: `b` in `a || b`. */
  commands: readonly Command[];
  hasFallback: boolean;
}

/**
 * The shell command in the arguments of a call, if there is one. Only the arguments decide: each agent names its tools
 * differently.
 */
export function writtenCommand(fields: Readonly<Record<string, unknown>>): string | undefined {
  // Some edit tools have a `path`, and a `command` that names the edit.
  if ("path" in fields) return undefined;
  const values = ["command", "cmd", "script", "shell_command", "CommandLine"].map((field) => fields[field]);
  const value = values.find((one) => typeof one === "string" || Array.isArray(one));
  if (!Array.isArray(value)) return value as string | undefined;
  return /(?:^|\/)(?:ba|z)?sh$/.test(String(value[0])) ? String(value.at(-1)) : value.join(" ");
}

/** Only the beginning of a longer script is read. */
const MAX_SCRIPT_CHARS = 20_000;

/**
 * Reads a shell command or a whole script, without wrappers and runners such as `sudo`, `timeout 60` and `npx`. Never
 * throws; an unclosed quote reaches to the end.
 */
export function readCommands(written: string): CommandGroup[] {
  const reader = new ScriptReader();
  for (const { 0: token, groups = {} } of withoutHereDocuments(written).matchAll(TOKEN))
    reader.read(token, groups);
  return reader.end();
}

/** A substitution is part of a word. No alternative fails after its first character, so each character is read once. */
const TOKEN =
  /(?<comment>(?<![^\s;&|()])#[^\n]*)|(?<blank>(?:[ \t\r]|\\\r?\n)+)|(?<redirect>\d?(?:&>>?|<<<|<<-?|>>|>\||[<>])&?[ \t]*(?:'[^']*'?|"[^"]*"?|[^\s'"`;&|<>()]*))|(?<operator>\n|;+|&&|\|\||\|&|[|&()])|(?<quoted>'[^']*'?|"[^"\\]*(?:\\[\s\S][^"\\]*)*"?)|\$\((?:[^()]+|\((?:[^()]+|\([^()]*\)?)*\)?)*\)?|`[^`]*`?|\\[\s\S]?|[^\s'"\\;&|<>()`$\d]+|[\s\S]/g;

/** Removes here documents before quotes are read, even inside quotes: their text may contain any quotes. */
function withoutHereDocuments(written: string): string {
  const lines = textHead(written, 10 * MAX_SCRIPT_CHARS).split("\n");
  const lastAt = new Map(lines.map((line, at) => [line.trim(), at]));
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    kept.push(lines[at]!);
    for (const [, tag = ""] of lines[at]!.matchAll(/(?<!<)<<-?\s{0,3}["']?(\w{1,60})/g))
      if (lastAt.get(tag)! > at) while (lines[++at]!.trim() !== tag);
  }
  return textHead(kept.join("\n"), MAX_SCRIPT_CHARS);
}

const KEYWORD = /^(?:then|do|else|elif|if|while|until|!|\{|time|[A-Za-z_]\w*\+?=.*)$/s;
const NO_COMMAND = /^(?:for|case|select|done|fi|esac|\}|function|\[\[?)$/;

class ScriptReader {
  readonly #groups: CommandGroup[] = [];
  #commands: Command[] = [];
  #words: Array<{ value: string; raw: string }> = [];
  #isInWord = false;
  #isPiped = false;
  #hasFallback = false;
  #folder: string | undefined;

  read(raw: string, kind: Record<string, string | undefined>): void {
    const isWord = !(kind.blank ?? kind.comment ?? kind.redirect ?? kind.operator);
    if (isWord) {
      const word = (this.#isInWord && this.#words.pop()) || { value: "", raw: "" };
      const value = kind.quoted === undefined ? raw.replace(/^\\/, "") : unquoted(raw);
      this.#words.push({ value: word.value + value, raw: word.raw + raw });
    } else if (kind.operator !== undefined) this.#operator(raw);
    this.#isInWord = isWord;
  }

  end(): CommandGroup[] {
    this.#operator("\n");
    return this.#groups;
  }

  #operator(operator: string): void {
    this.#endCommand();
    this.#isPiped = /^\|&?$/.test(operator);
    this.#hasFallback ||= operator === "||";
    if (!/^(?:\n|;+|&)$/.test(operator)) return;
    if (this.#commands.length > 0)
      this.#groups.push({ commands: this.#commands, hasFallback: this.#hasFallback });
    this.#commands = [];
    this.#hasFallback = false;
  }

  #endCommand(): void {
    const from = this.#words.findIndex(({ value }) => !KEYWORD.test(value));
    const own = from < 0 ? [] : this.#words.slice(from);
    this.#words = [];
    const [words, raws] = [own.map(({ value }) => value), own.map(({ raw }) => raw)];
    if (words.length === 0 || NO_COMMAND.test(words[0]!) || this.#hasFallback) return;
    this.#commands.push(readCommand({ words, raws, isPiped: this.#isPiped, folder: this.#folder }));
    if (words[0] === "cd" && words[1] !== undefined) this.#folder = words[1];
  }
}

function unquoted(raw: string): string {
  const inner = raw.length > 1 && raw.endsWith(raw[0]!) ? raw.slice(1, -1) : raw.slice(1);
  return raw.startsWith("'") ? inner : inner.replace(/\\(["\\$`])/g, "$1");
}

// Names of programs and subcommands: they are the same in every human language.

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

/** Programs that only look, control the shell, or move files: their failures are not recorded. */
const LOOKUPS = wordSet(
  `ls cat head tail grep egrep fgrep rg ag ack find fd wc pwd which type whereis echo printf tree stat file du df env printenv
  date whoami id hostname uname sleep ps pgrep top true false awk sort uniq jq yq less more man diff cmp cd pushd popd export
  set unset source . test basename dirname realpath readlink cut tr xxd strings history alias open lsof netstat ping dig wait
  jobs kill pkill yes clear md5sum sha256sum curl wget http https exit return shift read local trap command journalctl
  mkdir rm rmdir touch cp mv chmod chown ln sed tee tar zip unzip gzip mktemp vim vi nano dd patch`,
);
const LOOKING_VERBS = wordSet(
  `get list ls describe show view status log logs diff info help search inspect cat explain history query find outdated tail
  why fetch read browse count`,
);
/** Programs and verbs that test, build or check. */
const CHECKS = wordSet(
  `test tests spec e2e check lint typecheck build compile vet fmt format verify clippy audit bench coverage ci vitest jest
  pytest unittest mocha rspec phpunit ctest playwright cypress tox tsc tsgo eslint biome prettier oxlint mypy pyright ruff flake8
  stylelint webpack esbuild vite gradle gradlew mvn mvnw cmake ninja bazel gcc clang rustc`,
);
const INTERPRETER = /^(?:node|python[\d.]*|bash|sh|zsh|ruby|perl|php|tsx|ts-node|deno|bun|go)$/;

const WRAPPER =
  /^(?:(?:sudo|doas|env|time|nohup|nice|exec|stdbuf|setsid|g?timeout|xargs)(?: -[ugs] \S+| -\S+| \w+=\S*| \d[\d.]*[smhd]?)* )+/;
const RUNNER =
  /^(?:npx|bunx|uvx|(?:pnpm|npm|yarn|bundle) exec|(?:pnpm|yarn) dlx|(?:poetry|uv|pipenv|pdm|hatch|conda) run|python[\d.]* -m)(?: -\S+)* /;

function readCommand(written: SimpleCommand): Command {
  const whole = from(written, WRAPPER);
  const command = from(whole, RUNNER);
  const names = namesOf(command);
  const [program = "", verb = "", next = ""] = names;
  const isNamed = names.slice(0, 4).some((name) => partsOf(name).some((part) => CHECKS.has(part)));
  const isStaged = program === "git" && verb === "add";
  const isLooking = LOOKING_VERBS.has(verb) || (LOOKING_VERBS.has(next) && next !== "status") || isStaged;
  const isLookup = LOOKUPS.has(program) || ((isLooking || isInline(command)) && !isNamed);
  const identity = identityOf(command);
  return { ...command, text: whole.raws.join(" "), names, identity, isLookup, isCheck: isNamed && !isLookup };
}

/** True for code on the command line, such as `node -e …`: nobody repeats such a trial. */
function isInline({ words }: SimpleCommand): boolean {
  const program = baseName(words[0]!);
  return (
    INTERPRETER.test(program) &&
    !program.endsWith("sh") &&
    /^-[\w]*[cep]$|^--(?:eval|print)$|^-$/.test(words[1] ?? "")
  );
}

function from(command: SimpleCommand, front: RegExp): SimpleCommand {
  const words = command.words.slice(0, 12).map((word) => word.slice(0, 200).replace(/\s/g, "_"));
  const count = (front.exec(words.join(" "))?.[0].split(" ").length ?? 1) - 1;
  return { ...command, words: command.words.slice(count), raws: command.raws.slice(count) };
}

function namesOf({ words, raws }: SimpleCommand): string[] {
  const isFile = (word: string) => /[/\\]|\.\w{1,5}$|^[A-Z]/.test(word);
  const isText = (at: number) => /["'`$]/.test(raws[at]!) && /\s/.test(words[at]!);
  const operands = words.slice(1, 40).filter((word, at) => !word.startsWith("-") && !isText(at + 1));
  const program = baseName(words[0]!);
  if (!INTERPRETER.test(program)) return [program, ...operands.filter((word) => !isFile(word))];
  const [script = "", ...others] = operands[0] === "run" ? operands.slice(1) : operands;
  const names = [script, ...others].filter((word) => !isFile(word));
  return isFile(script) ? [baseName(script), ...names] : [program, ...names];
}

/** The name of a program or script, without its folder and ending. */
function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.(?:[cm]?[jt]s|py|sh|rb|php|pl|exe|cmd)$/i, "");
}

/** Splits a name into lower-case words: `db:migrate`, `delete-stack`, `publishToMavenLocal`. */
function partsOf(name: string): string[] {
  const spaced = name.slice(0, 80).replace(/([a-z\d])([A-Z])/g, "$1 $2");
  return spaced.toLowerCase().match(/[a-z\d]+/g) ?? [];
}

const UNIMPORTANT =
  /^(?:--|run|-[vqs]+|--(?:verbose|quiet|silent|no-colou?r|colou?r|run|bail|workspaces?|all|reporter|no-cache|force)(?:=.*)?|\.{1,2}\/?|\.\/\.\.\.)$/;

function identityOf({ words }: SimpleCommand): string[] {
  if (words[0] !== "git") return words.filter((word, at) => at === 0 || !UNIMPORTANT.test(word));
  // Two commits are the same command, whatever their messages. Two pushes must have the same remote and branch.
  return words.filter((word) => !word.startsWith("-")).slice(0, words.includes("push") ? 9 : 2);
}

/** True for the same command, and for a check with fewer arguments: `npm test` covers `npm test -- foo`. */
export function covers(passed: Command, failed: Command): boolean {
  const [few, many] = [passed.identity, failed.identity];
  if (few[0] !== many[0]) return false;
  if (!passed.isCheck) return few.join("\n") === many.join("\n");
  let from = 0;
  return few.every((word) => {
    const place = many.findIndex((other, at) => at >= from && contains(word, other));
    from = place + 1;
    return place >= 0;
  });
}

/** The new argument of a passed check that the error line of the failed one names: `pytest` failed in `a.py`, `pytest a.py` passed. */
export function checkedPart(passed: Command, failed: Command, line: string): string | undefined {
  if (passed.identity[0] !== failed.identity[0] || !passed.isCheck) return undefined;
  return passed.identity
    .slice(1)
    .filter((word) => !failed.identity.includes(word))
    .map((word) => word.replace(/^[\W_]+|[\W_]+$/g, ""))
    .find((name) => name.length > 3 && line.includes(name));
}

/** True for equal words, and if `outer` is a folder or file that contains `inner`. */
function contains(outer: string, inner: string): boolean {
  const folder = outer.replace(/\/(?:\.\.\.)?$/, "");
  return inner === outer || (inner.startsWith(folder) && /^[/:]/.test(inner.slice(folder.length)));
}

/** Verbs of irreversible actions, as a subcommand or as the name of a script. */
const ACTS = wordSet(
  `push publish unpublish deploy redeploy undeploy release migrate rollback delete del destroy drop dropdb truncate purge wipe
  flush apply upload terminate promote merge yank transfer send submit email rm`,
);
/** Verbs without lasting effects outside the project, and verbs that only prepare the object of an acting verb. */
const LOCAL = wordSet(
  `version login plan preview validate template dry notes local new generate gen init add install i start serve dev watch
  download assemble freeze config make patch edit edits draft write todo context`,
);
/** Programs that take several verbs at once. */
const SEVERAL = /^(?:g?make|mvnw?|gradlew?|just|task|rake)$/;
/** Irreversible commands that need more than one verb to identify. Matches a program with its unquoted arguments. */
const PHRASES =
  /^(?:git (?:push|filter-\w|reset .*--hard|clean .*-(?:-force|[a-z]*f)|branch .*-(?:[dD]\b|-delete)|stash (?:drop|clear)|checkout (?:.* )?(?:--|\.)(?: |$)|restore (?!.*(?:--staged|-S\b)))|git tag (?!(?:.* )?(?:-l|-n\d*|-v|--(?:list|contains|no-contains|points-at|merged|no-merged|verify))\b)(?:.* )?[^-\s]|(?:docker|podman) .*(?:prune|volume rm|stack rm|down .*(?:-v\b|--volumes)|build .*--push)|(?:p?npm|yarn) (?:version [^-]|dist-tag (?:add|rm)|deprecate)|alembic (?:up|down)grade|dotnet (?:nuget (?:push|delete)|ef database (?:update|drop))|ansible-playbook |vercel .*--prod|redis-cli (?:flush|del)|find (?!.*\.(?:pyc|log|tmp)\b).*-delete|(?:scp|rsync) .* [\w.@-]{2,}:\S*$|(?:aws s3|gsutil) .*(?:cp|mv|sync) .* \w+:\/\/\S+$|(?:aws|gsutil) .*\b(?:rm|rb)\b|helm (?:.* )?(?:un)?install\b|helm (?:.* )?upgrade\b|kubectl .*(?:undo|scale)\b|(?:gh|glab) \w+ (?:create|close|comment)\b|heroku \S*reset|(?:fly|heroku) \S*(?: |:)set\b|gh api .*(?:-X|--method)[ =]?(?:POST|PUT|PATCH|DELETE))/i;
const DRY =
  / (?:--?(?:dry-?run|dry|help|snapshot|check|what-?if|no-?op|plan|list|simulate)(?!=(?:false|none))(?:[= ]|$)|(?:-h|--version)$)|^(?:git (?:push|clean)|make) (?:.* )?-\w*n/i;

function unquotedText({ names: [program = ""], words }: Command): string {
  const own = words.slice(1, 60).filter((word) => word.length < 200 && !/\s/.test(word));
  return [program, ...own]
    .join(" ")
    .slice(0, 2_000)
    .replace(/ -[Cc] \S+/, "");
}

/** True for a dry run, a listing, help or a version query. */
export function asksOnly(command: Command): boolean {
  return DRY.test(unquotedText(command)) || command.names[1] === "version";
}

/** Cache: each run asks several times. */
const irreversible = new WeakMap<Command, boolean>();

/** True if the command cannot be undone. False for dry runs, listings and help. */
export function isIrreversible(command: Command): boolean {
  const known = irreversible.get(command) ?? cannotBeUndone(command);
  irreversible.set(command, known);
  return known;
}

function cannotBeUndone(command: Command): boolean {
  const [program = ""] = command.names;
  const text = unquotedText(command);
  if (DRY.test(text)) return false;
  if (/^(?:rm|rmdir|unlink|shred)$/.test(program)) return removesFiles(command);
  if (PHRASES.test(text) || RULES.some(([programs, rule]) => programs.test(program) && rule(command)))
    return true;
  return !/^(?:git|dotnet)$/.test(program) && (!command.isLookup || ACTS.has(program)) && actsByName(command);
}

/** The first known verb decides. If the program takes several verbs, one acting verb is enough. */
function actsByName({ names }: Command): boolean {
  const [program = ""] = names;
  const isSeveral = SEVERAL.test(program);
  const verdicts = names.slice(0, isSeveral ? 12 : 5).map((name, at) => actsBy(name, names[at + 1] ?? ""));
  return isSeveral ? verdicts.includes(true) : (verdicts.find((acts) => acts !== undefined) ?? false);
}

function actsBy(name: string, next: string): boolean | undefined {
  const stops = (part: string) => LOCAL.has(part) || CHECKS.has(part) || LOOKING_VERBS.has(part);
  const parts = partsOf(name);
  if (parts.some((part) => ACTS.has(part)) && !parts.some(stops))
    // Some verbs are nouns too: `gh release list`, `prisma migrate status`.
    return !(/^(?:release|deploy|migrate|tag)$/.test(name) && partsOf(next).some(stops) && next !== "deploy");
  return parts.some(stops) ? false : undefined;
}

/** Verbs of tools that change something outside of the project. */
const TOOL_ACTS = wordSet(
  "create add update edit set post remove close reply comment assign invite schedule book pay",
);

/** True if a tool of a server acts on the outside, by its name: `mcp__github__create_issue`. */
export function actsByTool({ name }: { name: string }): boolean {
  if (!/^mcp_/.test(name)) return false;
  const parts = partsOf(name.slice(name.lastIndexOf("__") + 1));
  return parts.some((part) => ACTS.has(part) || TOOL_ACTS.has(part)) && !LOOKING_VERBS.has(parts[0] ?? "");
}

export function isCommit({ names: [program, verb] }: Command): boolean {
  return program === "git" && verb === "commit";
}

const RULES: ReadonlyArray<[programs: RegExp, rule: (command: Command) => boolean]> = [
  [/^(?:curl|wget|https?)$/, writesByHttp],
  [/^(?:psql|mysql|mariadb|sqlite3|mongosh|clickhouse-client)$/, changesData],
];

/** True unless all the files can be created again. */
function removesFiles({ words }: Command): boolean {
  const paths = words.slice(1).filter((word) => !word.startsWith("-"));
  return paths.length === 0 || paths.some((path) => !isTemporary(path));
}

/** Folders whose whole content can be created again. */
const GENERATED_FOLDER =
  /^(?:node_modules|\.?venv|vendor|target|dist(?:[-_].*)?|obj|coverage|__pycache__|\.(?:next|nuxt|output|turbo|tox|gradle|terraform|(?:\w+[-_])?cache)|test-results|\$\{?te?mp.*|\$\(mktemp.*)$/i;
/** Names of files and folders that can be created again, if the command removes them whole. */
const GENERATED =
  /^(?:te?mp(?:[-_.].*)?|build|out|[\w-]*cache|.*\.(?:te?mp|bak|pyc|o|orig|swp|tsbuildinfo|tgz|lock)|(?:package|pnpm)-lock\.\w+)$/i;

/** True for builds, caches, installed packages and temporary files. */
function isTemporary(path: string): boolean {
  const parts = path.slice(-500).replace(/\/+$/, "").split("/");
  if (/^\/(?:private\/)?(?:var\/)?tmp\/./.test(path)) return true;
  return parts.some((part) => GENERATED_FOLDER.test(part)) || GENERATED.test(parts.at(-1)!);
}

const DATA_CHANGE =
  /(?:^|[;"'\s])(?:(?:drop|truncate|alter)\s+\w|delete\s+from\s|insert\s+into\s|update\s+\S{1,200}\s+set\s)|\.(?:drop|delete|remove|update)\w*\(|migrations?\/\S{1,200}\.sql$/i;

function changesData({ words }: Command): boolean {
  return words.slice(1).some((text) => DATA_CHANGE.test(text.slice(0, 20_000)));
}

const HERE = /^(?:\w+:\/\/)?(?:localhost|127\.|0\.0\.0\.0|\[::1\]|[\w-]+\.(?:local|test)\b|:\d)/i;
const WRITES =
  /^(?:(?:-X|(?:--request|--method)=)?(?:POST|PUT|PATCH|DELETE)$|(?:-d|--data(?:-\w+)?|--json|-F|--form|-T|--upload-file|--post-(?:data|file))(?:=|$))/;

/** Requests to a server on this machine do not count: they are trials. */
function writesByHttp({ words }: Command): boolean {
  const own = words.slice(1, 200);
  const reads = own.some((word) => HERE.test(word) || /^(?:-G|--get|(?:-X)?GET)$/.test(word));
  return !reads && own.some((word) => WRITES.test(word));
}
