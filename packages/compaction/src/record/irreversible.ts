import { CHECKS, type Command, LOOKING_VERBS, partsOf, wordSet } from "./commands.ts";

/** Verbs of irreversible actions, as a subcommand or as the name of a script. */
const ACTS = wordSet(
  `push publish unpublish deploy redeploy undeploy release migrate rollback delete del destroy drop dropdb truncate purge wipe
  flush apply upload terminate promote merge yank transfer send submit email`,
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
  /^(?:git (?:push|filter-\w|reset .*--hard|clean .*-(?:-force|[a-z]*f)|branch .*-(?:[dD]\b|-delete)|stash (?:drop|clear))|git tag (?!(?:.* )?(?:-l|-n\d*|-v|--(?:list|contains|no-contains|points-at|merged|no-merged|verify))\b)(?:.* )?[^-\s]|(?:docker|podman) .*(?:prune|volume rm|stack rm|down .*(?:-v\b|--volumes)|build .*--push)|(?:p?npm|yarn) (?:version [^-]|dist-tag (?:add|rm)|deprecate)|alembic (?:up|down)grade|dotnet (?:nuget (?:push|delete)|ef database (?:update|drop))|ansible-playbook |vercel .*--prod|redis-cli (?:flush|del)|find (?!.*\.(?:pyc|log|tmp)\b).*-delete|(?:scp|rsync) .* [\w.@-]{2,}:\S*$|(?:aws s3|gsutil) .*(?:cp|mv|sync) .* \w+:\/\/\S+$|(?:aws|gsutil) .*\b(?:rm|rb)\b|helm (?:.* )?(?:un)?install\b|helm (?:.* )?upgrade\b|kubectl .*(?:undo|scale)\b|(?:gh|glab) \w+ (?:create|close|comment)\b|heroku \S*reset|(?:fly|heroku) \S*(?: |:)set\b|gh api .*(?:-X|--method)[ =]?(?:POST|PUT|PATCH|DELETE))/i;
const DRY =
  / (?:--?(?:dry-?run|dry|help|snapshot|check|what-?if|no-?op|plan|list|simulate)(?!=(?:false|none))(?:[= ]|$)|(?:-h|--version)$)|^(?:git (?:push|clean)|make) (?:.* )?-\w*n/i;

/** True if the command cannot be undone. False for dry runs, listings and help. */
export function isIrreversible(command: Command): boolean {
  const [program = ""] = command.names;
  const own = command.words.slice(1, 60).filter((word) => word.length < 200 && !/\s/.test(word));
  const text = [program, ...own]
    .join(" ")
    .slice(0, 2_000)
    .replace(/ -[Cc] \S+/, "");
  if (DRY.test(text)) return false;
  const isRuled = RULES.some(([programs, rule]) => programs.test(program) && rule(command));
  if (isRuled || PHRASES.test(text)) return true;
  return !/^(?:git|dotnet)$/.test(program) && (!command.isLookup || ACTS.has(program)) && actsByName(command);
}

/** The first known verb decides. If the program takes several verbs, one acting verb is enough. */
function actsByName({ names }: Command): boolean {
  const [program = ""] = names;
  const isSeveral = SEVERAL.test(program);
  const told = names.slice(0, isSeveral ? 12 : 5).map((name, at) => actsBy(name, names[at + 1] ?? ""));
  return isSeveral ? told.includes(true) : (told.find((acts) => acts !== undefined) ?? false);
}

function actsBy(name: string, next: string): boolean | undefined {
  const stops = (part: string) => LOCAL.has(part) || CHECKS.has(part) || LOOKING_VERBS.has(part);
  const parts = partsOf(name);
  if (parts.some((part) => ACTS.has(part)) && !parts.some(stops))
    // Some verbs are nouns too: `gh release list`, `prisma migrate status`.
    return !(/^(?:release|deploy|migrate|tag)$/.test(name) && partsOf(next).some(stops) && next !== "deploy");
  return parts.some(stops) ? false : undefined;
}

const RULES: ReadonlyArray<[programs: RegExp, rule: (command: Command) => boolean]> = [
  [/^rm$/, removesMore],
  [/^(?:curl|wget|https?)$/, writesByHttp],
  [/^(?:psql|mysql|mariadb|sqlite3|mongosh|clickhouse-client)$/, changesData],
];

/** True for a folder, a glob or a path outside the project. A single file of the project is new, or is in git. */
function removesMore({ words }: Command): boolean {
  const isRecursive = words.some((word) => /^-(?:[a-z]*r|-recursive)/i.test(word));
  const isMore = (path: string) => isRecursive || /[*?]|^(?:~|\/|\$HOME|\.\.)/.test(path);
  const paths = words.slice(1).filter((word) => !word.startsWith("-"));
  return paths.some((path) => !isTemporary(path) && isMore(path)) || (isRecursive && paths.length === 0);
}

const TEMPORARY =
  /^(?:te?mp(?:[-_.].*)?|.*\.(?:te?mp|bak|log|pyc|o|orig|swp|tsbuildinfo|tgz|lock)|\$\{?te?mp.*|\$\(mktemp.*|dist(?:[-_].*)?|build|out|target|obj|node_modules|\.?[\w-]*cache|coverage|__pycache__|\.(?:next|nuxt|output|turbo|v?env|tox|gradle|terraform)|venv|test-results|vendor|(?:package|pnpm)-lock\.\w+)$/i;

/** True for files that can be created again: builds, caches, installed packages, temporary files. */
function isTemporary(path: string): boolean {
  const parts = path.slice(-500).split("/");
  return /^\/(?:private\/)?(?:var\/)?tmp\/./.test(path) || parts.some((part) => TEMPORARY.test(part));
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
