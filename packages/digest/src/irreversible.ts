import { baseName, hasOption, operandsOf, partsOf, programOf } from "./command-words.ts";
import type { SimpleCommand } from "./shell.ts";
import { ACTING_VERBS } from "./verbs.ts";

type Rule = (command: SimpleCommand) => boolean;

/** What cannot be taken back, and is told by arguments and not by a verb. */
export function isIrreversibleByArguments(command: SimpleCommand): boolean {
  const program = programOf(command);
  return Object.hasOwn(RULES, program) && !isDryRun(command) && RULES[program]!(command);
}

const RULES: Readonly<Record<string, Rule>> = {
  rm: removesMore,
  find: ({ words }) =>
    / -(?:delete|exec(?:dir)? (?:sudo )?rm)\b/.test(words.join(" ")) && !words.slice(1).some(isTemporary),
  git: tags,
  dd: ({ words }) => words.some((word) => /^of=\/dev\/(?!null)/.test(word)),
  rsync: (command) => hasOption(command, "--delete") || copiesAway(command),
  gh: ({ words }) => words[1] === "api" && namesWriteMethod(words),
  ...rules("mail mailx mutt msmtp swaks", ({ words }) => words.length > 1),
  ...rules("curl wget http https xh", writesByHttp),
  ...rules("scp sftp rclone skopeo aws gsutil gcloud s3cmd", copiesAway),
  ...rules(
    "psql mysql mariadb sqlite3 sqlite cockroach duckdb snowsql sqlcmd clickhouse-client cqlsh mongosh mongo bq",
    changesData,
  ),
};

function rules(programs: string, rule: Rule): Record<string, Rule> {
  return Object.fromEntries(programs.split(" ").map((program) => [program, rule]));
}

/** A folder, several files at once, or a file elsewhere; a file of the project is in git, or was made a moment ago. */
function removesMore(command: SimpleCommand): boolean {
  const isRecursive = /[rR]/.exec(command.words.filter((word) => /^-\w+$/.test(word)).join("")) !== null;
  const paths = command.words.slice(1).filter((word) => !word.startsWith("-"));
  if (paths.length === 0) return isRecursive;
  return paths.some(
    (path) =>
      !isTemporary(path) &&
      (isRecursive || hasOption(command, "--recursive") || /[*?]|^(?:~|\/|\$HOME|\.\.)/.test(path)),
  );
}

const TEMPORARY =
  /^(?:te?mp(?:[-_.].*)?|.*\.(?:te?mp|bak|log|pyc|o|orig|rej|swp|tsbuildinfo|tgz|egg-info|lock)|\$\{?te?mp.*|\$\(mktemp.*|dist(?:[-_].*)?|build|out|target|obj|node_modules|\.?[\w-]*cache|coverage|htmlcov|__pycache__|\.(?:next|nuxt|output|turbo|v?env|tox|gradle|terraform|eggs|svelte-kit|angular|dart_tool|parcel-.*)|venv|deriveddata|playwright-report|test-results|storybook-static|_build|pods|vendor|package-lock\.json|pnpm-lock\.yaml)$/i;

/** True for what can be made again: builds, caches, installed packages, temporary files. */
export function isTemporary(path: string): boolean {
  if (/^\/(?:private\/)?(?:var\/)?tmp\/.|^\/dev\/shm\//.test(path)) return true;
  const parts = path.slice(-500).split("/");
  return parts.some((part) => TEMPORARY.test(part));
}

/** `git tag` alone, or with a pattern, lists. */
function tags({ words }: SimpleCommand): boolean {
  const at = words.indexOf("tag");
  if (at < 1 || words.slice(1, at).some((word) => /^[a-z]/.test(word) && word !== words[2])) return false;
  const own = words.slice(at + 1);
  const lists = /^-(?:l|n\d*|v)$|^--(?:list|contains|no-contains|points-at|merged|no-merged|sort|verify)/;
  return own.some((word) => !word.startsWith("-")) && !own.some((word) => lists.test(word));
}

const DATA_CHANGE =
  /(?:^|[;"'\s])(?:(?:drop|truncate|alter)\s+\w|delete\s+from\s|update\s+\S{1,200}\s+set\s)|\.(?:drop|dropDatabase|deleteMany|deleteOne|remove|updateMany|updateOne|renameCollection)\(/i;

function changesData({ words, input }: SimpleCommand): boolean {
  const texts = [...words.slice(1), input].map((text) => text.slice(0, 20_000));
  return texts.some((text) => DATA_CHANGE.test(text) || isChangingScript(text));
}

function isChangingScript(path: string): boolean {
  return (
    /^\S{1,500}\.sql$/i.test(path) &&
    partsOf(baseName(path)).some((part) => ACTING_VERBS.has(part) || /^migrations?$/.test(part))
  );
}

const HERE =
  /^(?:\w+:\/\/)?(?:[^/@\s]{0,100}@)?(?:localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker\.internal|[\w-]+\.(?:local|test)\b|:\d)/i;

/** What a server on this machine is sent is a trial. */
function writesByHttp({ words }: SimpleCommand): boolean {
  const own = words.slice(1, 200);
  if (own.some((word) => HERE.test(word))) return false;
  if (namesWriteMethod(own)) return true;
  const reads = own.some(
    (word, at) => /^(?:-G|--get|-XGET|--request=GET)$/.test(word) || (word === "GET" && at > 0),
  );
  return (
    !reads &&
    own.some((word) =>
      /^(?:-d|--data(?:-\w+)?|--json|-F|--form|-T|--upload-file|--post-(?:data|file))(?:=|$)/.test(word),
    )
  );
}

function namesWriteMethod(words: readonly string[]): boolean {
  return words.some((word) => /^(?:-X|(?:--request|--method)=)?(?:POST|PUT|PATCH|DELETE)$/.test(word));
}

function copiesAway(command: SimpleCommand): boolean {
  const operands = operandsOf(command);
  const copies = [programOf(command), ...operands.slice(0, 3)].some((word) =>
    /^(?:cp|mv|copy|sync|put|move|rsync|scp|sftp)$/.test(word),
  );
  return copies && operands.length > 1 && /^[\w-]+:\/\/|^[\w.@-]{2,}:/.test(operands.at(-1)!);
}

const DRY =
  /^--?(?:dry-?run|dry|help|snapshot|check|what-?if|no-?op|preview|plan|list|simulate|validate-only)(?!=(?:false|none|0)$)(?:=|$)/i;

/** A trial, a listing, or a question for help. */
export function isDryRun(command: SimpleCommand): boolean {
  const { words } = command;
  if (/^(?:-h|-V|--version)$/.test(words.at(-1)!)) return true;
  if (words[0] === "git" && /^(?:push|clean)$/.test(operandsOf(command)[0] ?? "") && hasOption(command, "-n"))
    return true;
  return (
    words.some((word) => DRY.test(word)) ||
    (/^(?:rsync|make|bash|sh)$/.test(words[0]!) && hasOption(command, "-n"))
  );
}
