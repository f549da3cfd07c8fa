import { type CommandGroup, commandGroups, type SimpleCommand } from "./shell.ts";

/**
 * What a command does. "look": only looks; "plumbing": moves files about; "judge": tests, builds or checks; "act": cannot be
 * taken back.
 */
export type CommandKind = "look" | "plumbing" | "judge" | "act" | "run";

export interface Command extends SimpleCommand {
  kind: CommandKind;
}

export interface ReadGroup extends CommandGroup {
  commands: readonly Command[];
}

/** The commands of a shell command; wrappers (`sudo`, `timeout 60`, `bash -c`, `ssh host`) are taken off. */
export function readCommands(written: string): ReadGroup[] {
  return unwrapped(commandGroups(written), 3).map((group) => ({
    ...group,
    commands: group.commands.map((command) => ({ ...command, kind: kindOf(command) })),
  }));
}

const set = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

const LOOKS = set(
  `ls cat head tail grep egrep fgrep rg ag ack find fd wc pwd which type whereis echo printf tree stat file du df env printenv
  date whoami id hostname uname sleep ps pgrep top true false awk gawk sort uniq jq yq less more man diff cmp cd pushd popd
  export set unset source . test basename dirname realpath readlink column cut tr nl od xxd hexdump strings history alias code
  open xdg-open lsof netstat ss ping dig nslookup nc wait jobs kill pkill killall seq yes tput clear md5sum sha256sum shasum
  command comm paste fold bat delta exa eza clear`,
);
const PLUMBING = set(
  "mkdir touch cp mv chmod chown ln sed tee tar zip unzip gzip gunzip patch install mktemp vim vi nano emacs dd xargs",
);

const JUDGES = set(
  `test tests spec e2e check lint typecheck build compile make vet fmt format verify clippy audit bench coverage ci
  vitest jest pytest unittest mocha ava tape rspec minitest phpunit pest ctest playwright cypress karma tox nox nextest
  tsc tsgo eslint biome prettier oxlint mypy pyright ruff flake8 pylint black isort rubocop stylelint shellcheck golangci
  webpack rollup esbuild tsup tsdown vite turbo gradle gradlew mvn mvnw cmake ninja bazel javac gcc clang rustc swiftc ghc
  assemble bundle package phpstan psalm credo dialyzer checkstyle ktlint detekt`,
);
/** Verbs that only look. */
const LOOK_VERBS = set(
  `get list ls describe show view status log logs diff info help search inspect cat top whoami explain history print query
  find outdated why freeze tail`,
);
/** Verbs after which nothing happens that lasts outside the project. */
const LOCAL_VERBS = set(
  `version fetch pull login logout plan preview validate template dry notes local new generate gen g make init add install i
  start serve dev watch config context completion doctor changelog download create-migration`,
);
const ACTS = set(
  `push publish unpublish release deploy redeploy undeploy delete del drop truncate migrate upload apply destroy purge wipe
  flush rollback terminate promote teardown unlink shred mkfs dropdb redrop send sendmail`,
);
/** Of programs that steer what runs elsewhere. */
const REMOTE_ACTS = set(
  `create update put set up rm remove terminate scale restart reboot stop replace patch drain edit import restore reset merge
  close reopen comment rename transfer revoke invoke upgrade uninstall undo taint rb mb failover rotate unset invalidation`,
);
const REMOTES = set(
  `aws gcloud gsutil az kubectl oc helm heroku fly flyctl vercel netlify wrangler firebase railway render doctl gh glab
  pulumi serverless sls sam eb cdk supabase terraform tofu terragrunt argocd nomad consul vault linode-cli hcloud scw
  doppler eas appcenter fastlane expo sentry-cli stripe kops eksctl bq amplify copilot`,
);

/**
 * Programs whose verbs are others, or only these: words that must stand in order among the first words; an option must stand
 * anywhere. A program that is listed is not asked for the general verbs unless it ends with `*`.
 */
const PROGRAMS: Readonly<Record<string, string>> = {
  git: "push, reset --hard, clean -f, clean --force, branch -D, branch -d, branch --delete, stash drop, stash clear, filter-branch, filter-repo, send-email, reflog expire, reflog delete, update-ref -d, svn dcommit, lfs push, subtree push, flow release finish",
  hg: "push, strip",
  svn: "commit, ci, delete, copy",
  docker:
    "push, volume rm, volume prune, system prune, image prune, builder prune, compose down -v, compose down --volumes, compose push, stack deploy, stack rm, service update, service rm, buildx build --push, build --push",
  podman: "push, volume rm, volume prune, system prune",
  "docker-compose": "push, down -v, down --volumes",
  dotnet: "nuget push, nuget delete, ef database update, ef database drop",
  npm: "version *, dist-tag, deprecate, owner, access, *",
  pnpm: "version *, dist-tag, deprecate, -r publish, publish, run *, *",
  yarn: "npm publish, npm tag, version *, *",
  cargo: "yank, owner, *",
  alembic: "upgrade, downgrade, stamp",
  flask: "db upgrade, db downgrade",
  flyway: "migrate, clean, repair, undo, baseline",
  liquibase: "update, rollback, dropAll, drop-all, *",
  dbmate: "up, down, drop, migrate, rollback",
  goose: "up, up-to, down, down-to, reset, redo",
  migrate: "up, down, drop, force, goto",
  prisma: "migrate deploy, migrate dev, migrate reset, db push, db execute",
  "drizzle-kit": "push, migrate, drop",
  typeorm: "migration:run, migration:revert, schema:drop, schema:sync",
  "redis-cli": "flushall, flushdb, del, unlink",
  "ansible-playbook": "",
  crontab: "-r",
  surge: "",
  np: "",
  mail: "",
  mailx: "",
  mutt: "",
  msmtp: "",
  swaks: "",
  twine: "upload, register",
};

/** Programs that do it when they are called with nothing but options. */
const BARE = set("vercel surge np mail mailx mutt msmtp swaks ansible-playbook semantic-release release-it");
/** Programs that take several verbs at once. */
const SEVERAL = set("make gmake mvn mvnw gradle gradlew ant just task rake sbt lein mix nx");
/** Verbs that are nouns too: `gh release list`, `prisma migrate status`. */
const NOUNS = set("release releases deploy migrate tag");
const INTERPRETERS = set(
  "node python python3 python2 bash sh zsh ruby perl php tsx ts-node deno bun go rscript",
);
const SQL = set(
  "psql mysql mariadb sqlite3 sqlite cockroach duckdb snowsql sqlcmd clickhouse-client clickhouse mongosh mongo bq usql pgcli",
);
const COPIES = set("rsync scp rclone sftp aws gsutil gcloud s3cmd azcopy mc");
const HTTP = set("curl wget http https xh httpie");

function kindOf(command: SimpleCommand): CommandKind {
  const program = programOf(command);
  if (isDestructive(command, program)) return "act";
  if (LOOKS.has(program) || HTTP.has(program)) return "look";
  if (PLUMBING.has(program)) return "plumbing";
  if (SQL.has(program) || COPIES.has(program)) {
    if (program !== "aws" && program !== "gcloud") return "run";
  }
  return kindByVerb(command, program);
}

/** The name of the program, without its folder and ending. */
function programOf({ words }: SimpleCommand): string {
  return baseName(words[0] ?? "");
}

function baseName(path: string): string {
  return path
    .slice(path.lastIndexOf("/") + 1)
    .replace(/\.(?:[cm]?[jt]s|py|sh|rb|php|pl|exe|cmd|bat|ps1)$/i, "");
}

/** What goes by its arguments and not by a verb. */
function isDestructive(command: SimpleCommand, program: string): boolean {
  if (isDry(command)) return false;
  switch (program) {
    case "rm":
      return removesMore(command);
    case "find":
      return (
        /\s-(?:delete|exec(?:dir)? (?:sudo )?rm)\b/.test(command.text) && !isTemporary(command.words[1] ?? "")
      );
    case "git":
      return tags(command) || matchesPhrase(command, PROGRAMS.git!);
    case "dd":
      return command.words.some((word) => /^of=\/dev\/(?!null)/.test(word));
  }
  if (SQL.has(program)) return changesData(command);
  if (HTTP.has(program)) return writesByHttp(command, program);
  return COPIES.has(program) && copiesAway(command);
}

/** A folder, several files at once, or a file elsewhere; a file of the project is in git, or was made a moment ago. */
function removesMore({ words }: SimpleCommand): boolean {
  const isRecursive = words.some((word) => /^-\w*[rR]|^--recursive$/.test(word));
  const paths = words.slice(1).filter((word) => !word.startsWith("-"));
  const lasting = paths.filter((path) => !isTemporary(path));
  if (paths.length === 0) return isRecursive;
  return lasting.some((path) => isRecursive || /[*?]|^~|^\/|^\$HOME/.test(path));
}

const TEMPORARY =
  /^(?:tmp|temp|te?mp[-_.].*|.*\.(?:tmp|temp|bak|log|pyc|o|orig|rej|swp|tsbuildinfo|tgz)|\$\{?te?mp.*|dist|dist[-_].*|build|out|target|bin|obj|node_modules|\.?cache|\.[\w-]*cache|coverage|htmlcov|__pycache__|\.next|\.nuxt|\.output|\.turbo|\.venv|venv|\.tox|\.gradle|\.terraform|\.parcel-.*|deriveddata|\.eggs|.*\.egg-info|playwright-report|test-results|storybook-static|\.svelte-kit|\.angular|_build|\.dart_tool|pods|vendor)$/i;

/** Can be made again. */
export function isTemporary(path: string): boolean {
  if (/^\/(?:private\/)?(?:var\/)?tmp\/.|^\/dev\/shm\//.test(path)) return true;
  const parts = path
    .slice(-1_000)
    .split("/")
    .filter((part) => !/^(?:|\*+|\.)$/.test(part));
  return parts.some((part) => TEMPORARY.test(part));
}

function tags(command: SimpleCommand): boolean {
  const own = operands(command);
  if (own[0] !== "tag" || own.length < 2) return false;
  return !command.words.some((word) =>
    /^-(?:l|n\d*|v)$|^--(?:list|contains|points-at|merged|no-merged|sort|verify)/.test(word),
  );
}

const SQL_CHANGE =
  /(?:^|[;"'\s])(?:drop|truncate|alter)\s+(?:table|database|schema|index|view|column|user|role|type|materialized|sequence|\w)|(?:^|[;"'\s])(?:delete\s+from|update\s+\S{1,200}\s+set)\s|^\s*truncate\s|\.(?:drop|dropDatabase|deleteMany|deleteOne|remove|updateMany|updateOne|renameCollection)\(/i;

function changesData(command: SimpleCommand): boolean {
  const texts = [...command.words.slice(1), command.input].map((text) => text.slice(0, 20_000));
  if (texts.some((text) => SQL_CHANGE.test(text))) return true;
  return texts.some(
    (text) =>
      /\.sql$/i.test(text) &&
      partsOf(baseName(text)).some((part) => ACTS.has(part) || /^migrations?$/.test(part)),
  );
}

const HERE =
  /^(?:\w+:\/\/)?(?:[^/@\s]{0,100}@)?(?:localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker\.internal|[\w-]+\.(?:local|test)\b|:\d)/i;

function writesByHttp(command: SimpleCommand, program: string): boolean {
  const { words } = command;
  if (words.slice(1).some((word) => HERE.test(word))) return false;
  const text = ` ${words.slice(1, 200).join(" ")} `;
  if (/\s(?:-X|--request|--method)[ =]?["']?(?:POST|PUT|PATCH|DELETE)\b/i.test(text)) return true;
  if (program === "curl")
    return (
      !/\s(?:-G|--get|-X ?GET|--request[ =]GET)\s/.test(text) &&
      /\s(?:-d|--data(?:-\w+)?|--json|-F|--form|-T|--upload-file)[\s=@'"{]/.test(text)
    );
  if (program === "wget") return /\s--(?:post|body)-(?:data|file)/.test(text);
  return words.slice(1, 4).some((word) => /^(?:POST|PUT|PATCH|DELETE)$/.test(word));
}

function copiesAway(command: SimpleCommand): boolean {
  const own = operands(command);
  if (command.words.includes("--delete") && programOf(command) === "rsync") return true;
  if (
    !/\b(?:cp|mv|copy|sync|put|mirror|move|rsync|scp|storage)\b/.test(
      own.slice(0, 3).join(" ") + programOf(command),
    )
  )
    return false;
  return own.length > 1 && /^[\w-]+:\/\/|^[\w.@-]{2,}:/.test(own.at(-1)!);
}

function isDry({ words }: SimpleCommand): boolean {
  return words.some(
    (word, at) =>
      /^-{1,2}(?:dry-?run|dryrun|dry|help|snapshot|check|what-?if|no-?op|preview|plan|list|simulate|validate-only)(?!=(?:false|none|0)\b)(?:=|$)/i.test(
        word,
      ) ||
      (at === words.length - 1 && /^(?:-h|--version|-V)$/.test(word)) ||
      (word === "-n" && /^(?:git|rsync|make)$/.test(words[0]!)),
  );
}

const VALUED =
  /^(?:-[CfnRwcFaHloesit]|--(?:prefix|filter|cwd|dir|profile|region|context|namespace|project|config|file|repo|workspace|app|env-file|kubeconfig|output|org|team|scope|package|stack|hostname|kube-context|subscription|resource-group|schema|database|url|endpoint-url))$/;

/** What is no option and no value of one, without the program; quoted text is left out. */
function operands({ words, quoted }: SimpleCommand): string[] {
  const own: string[] = [];
  for (let at = 1; at < words.length && own.length < 30; at++) {
    const word = words[at]!;
    if (word.startsWith("-")) {
      if (VALUED.test(word) && at + 2 < words.length) at++;
    } else if (!quoted[at]) own.push(word);
  }
  return own;
}

function matchesPhrase(command: SimpleCommand, phrases: string): boolean {
  const own = operands(command).slice(0, 6);
  return phrases.split(", ").some((phrase) => {
    let at = 0;
    return phrase.split(" ").every((token) => {
      if (token === "*") return own.length > at;
      if (token.startsWith("-")) return hasOption(command, token);
      at = own.findIndex((word, place) => place >= at && word.toLowerCase() === token.toLowerCase()) + 1;
      return at > 0;
    });
  });
}

function hasOption({ words }: SimpleCommand, option: string): boolean {
  if (option.startsWith("--")) return words.some((word) => word === option || word.startsWith(`${option}=`));
  return words.some((word) => /^-[A-Za-z]+$/.test(word) && word.includes(option[1]!));
}

function kindByVerb(command: SimpleCommand, program: string): CommandKind {
  const phrases = PROGRAMS[program]?.split(", ");
  const own = (phrases ?? []).filter((phrase) => phrase !== "" && phrase !== "*");
  const isOwn = own.some((phrase) => matchesPhrase(command, phrase));
  const general = generalKind(command, program, phrases === undefined || phrases.at(-1) === "*");
  if (isOwn || general === "act") return isDry(command) ? (general === "judge" ? "judge" : "look") : "act";
  return general;
}

/** The first verb decides. */
function generalKind(command: SimpleCommand, program: string, canAct: boolean): CommandKind {
  const own = operands(command);
  const isScript = INTERPRETERS.has(program.replace(/[\d.]+$/, "")) && !SEVERAL.has(program);
  const several = SEVERAL.has(program);
  const names = isScript
    ? [baseName(own[0] ?? ""), ...own.slice(1, 5)]
    : [program, ...own.slice(0, several ? 20 : 5)];
  if (
    BARE.has(program) &&
    own.every((word) => !isLocalVerb(word) && !JUDGES.has(word) && !REMOTE_ACTS.has(word))
  )
    return "act";
  let first: CommandKind | undefined;
  for (const [at, name] of names.entries()) {
    const kind =
      at > 0 && isFileName(name) ? undefined : kindOfVerb(name, names[at + 1], REMOTES.has(program), canAct);
    if (kind === "act" || (kind !== undefined && !several)) return kind;
    first ??= kind;
  }
  return first ?? "run";
}

function kindOfVerb(
  word: string,
  next: string | undefined,
  isRemote: boolean,
  canAct: boolean,
): CommandKind | undefined {
  const parts = partsOf(word);
  if (parts.some((part) => JUDGES.has(part))) return "judge";
  if (parts.some((part) => LOCAL_VERBS.has(part))) return "run";
  if (parts.some((part) => LOOK_VERBS.has(part))) return parts.length === 1 ? "look" : "run";
  const acts = parts.some((part) => ACTS.has(part) || (isRemote && REMOTE_ACTS.has(part)));
  if (!acts || !canAct) return undefined;
  return NOUNS.has(word) && next !== undefined && isLocalVerb(next) ? "look" : "act";
}

function isLocalVerb(word: string): boolean {
  return LOOK_VERBS.has(word) || LOCAL_VERBS.has(word);
}

function isFileName(word: string): boolean {
  return /[/\\]|\.\w{1,5}$/.test(word);
}

/** The words within a name: `db:migrate`, `delete-stack`, `publishToMavenLocal`. */
export function partsOf(name: string): string[] {
  return name
    .slice(0, 80)
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((part) => part !== "");
}

const WRAPPERS = set(
  "sudo doas env time nohup nice command exec stdbuf xvfb-run caffeinate setsid builtin timeout gtimeout ionice xargs",
);

function unwrapped(groups: readonly CommandGroup[], depth: number): CommandGroup[] {
  if (depth === 0) return [...groups];
  return groups.flatMap((group) => {
    const inner = group.commands.length === 1 ? scriptOf(withoutWrapper(group.commands[0]!)) : undefined;
    if (inner !== undefined) return unwrapped(commandGroups(inner), depth - 1);
    return [
      { ...group, commands: group.commands.flatMap((command) => innermost(withoutWrapper(command), depth)) },
    ];
  });
}

function innermost(command: SimpleCommand, depth: number): SimpleCommand[] {
  const script = scriptOf(command);
  if (script === undefined) return [command];
  return unwrapped(commandGroups(script), depth - 1).flatMap(({ commands }) => commands);
}

function withoutWrapper(command: SimpleCommand): SimpleCommand {
  let from = 0;
  const { words } = command;
  while (from < words.length && WRAPPERS.has(baseName(words[from]!))) {
    from++;
    while (from < words.length && /^-|^\w+=|^\d+(?:\.\d+)?[smhd]?$|^\{\}$/.test(words[from]!)) from++;
  }
  const behind = words.indexOf("--");
  if (
    behind > 0 &&
    /^(?:kubectl|oc|docker|doppler|dotenv|op|railway|fly|flyctl|heroku|with-env|infisical)$/.test(
      words[from] ?? "",
    )
  )
    from = behind + 1;
  else if (/^(?:docker|podman|docker-compose)$/.test(words[from] ?? "")) from = insideContainer(words, from);
  return from === 0 || from >= words.length ? command : tailOf(command, from);
}

/** `docker compose exec -T db psql`: what runs in the container. */
function insideContainer(words: readonly string[], from: number): number {
  const exec = words.findIndex((word, at) => at > from && at < from + 6 && word === "exec");
  if (exec < 0) return from;
  let at = exec + 1;
  while (at < words.length && words[at]!.startsWith("-"))
    at += /^-(?:[uwe]|-user|-workdir|-env)$/.test(words[at]!) ? 2 : 1;
  return at + 1;
}

function tailOf(command: SimpleCommand, from: number): SimpleCommand {
  const words = command.words.slice(from);
  return {
    ...command,
    words,
    quoted: command.quoted.slice(from),
    text: command.raws.slice(from).join(" "),
    raws: command.raws.slice(from),
  };
}

/** The script that a shell is given as an argument: `bash -c "…"`, `ssh host "…"`. */
function scriptOf({ words }: SimpleCommand): string | undefined {
  const program = baseName(words[0] ?? "");
  if (/^(?:ba|z|da|k)?sh$/.test(program)) {
    const at = words.findIndex((word) => /^-\w*c$/.test(word));
    return at > 0 ? words[at + 1] : undefined;
  }
  if (program === "eval") return words.slice(1).join(" ");
  if (program !== "ssh") return undefined;
  let at = 1;
  while (at < words.length && words[at]!.startsWith("-"))
    at += /^-[pilFoJLRDbcEIKmOQSWw]$/.test(words[at]!) ? 2 : 1;
  return at + 1 < words.length ? words.slice(at + 1).join(" ") : undefined;
}
