import { type ShellCommand, shellCommands } from "@bonsai-agent/extension/shell";

/** A command that should be asked about, and why. */
export interface Danger {
  /** In words, without quotes. */
  command: string;
  reason: string;
}

type Test = (words: readonly string[], command: ShellCommand) => boolean;

/** The programs (as words), what of their arguments is dangerous, and why. */
type Row = readonly [programs: string, isDanger: Test | RegExp, reason: string];

const always: Test = () => true;

/** True where a short option has one of these letters, or a long one is among the names. */
function option(letters: string, ...long: string[]): Test {
  const short = new RegExp(`^-[a-zA-Z]*[${letters}]`);
  return (words) =>
    words.some(
      (word) => short.test(word) || long.some((name) => word === name || word.startsWith(`${name}=`)),
    );
}

const word =
  (pattern: RegExp): Test =>
  (words) =>
    words.some((each) => pattern.test(each));

/** True where a program that runs others is given one of these, by itself or by way of others. */
const runs =
  (programs: RegExp): Test =>
  (words, { name }) =>
    shellCommands(lineOfWords([name, ...words]))
      .slice(1)
      .some((each) => programs.test(each.name));

/** Words as a line that a shell would read as those words. */
export function lineOfWords(words: readonly unknown[]): string {
  return words.map((word) => `'${String(word).replaceAll("'", String.raw`'\''`)}'`).join(" ");
}

const FILE_DELETERS = /^(?:rm|shred|unlink)$/;
const EVERYTHING = /^(?:\/|~\/?|\.\.?\/?|(?:.*\/)?\*|\$\{?HOME\}?\/?)$/;
const DEVICE =
  /^\/dev\/(?!(?:null|zero|full|stdout|stderr|tty|random|urandom|fd\/.*|shm\/.*|pts\/.*|tcp\/.*|udp\/.*)$)/;
const SQL =
  /\bdrop\s+(?:table|database|schema|view|index|role|user|owned)\b|\btruncate\s+(?:table\s+)?\w|\bdelete\s+from\s+[\w."`[\]]+\s*(?:;|"|'|$)/i;

/** In programs of other languages that stand in the line. */
const DELETING =
  /\b(?:rmtree|rm_rf|rm_r|remove_tree|rmSync|rmdirSync|unlinkSync|unlink|fs(?:\.promises|Promises)?\.rm(?:dir)?|removedirs|os\.(?:remove|system|popen|exec\w+)|subprocess|child_process|execSync|system|qx)\b/;

/** `git` and its like: what stands behind the program's own options. */
const ROWS: readonly Row[] = [
  ["rm", option("rR", "--recursive"), "it deletes folders and everything in them"],
  ["rm unlink shred", word(EVERYTHING), "it deletes everything in a folder"],
  ["shred srm wipe", always, "it makes files unrecoverable"],
  ["find", word(/^-delete$/), "it deletes every file that it finds"],
  ["find fd", runs(FILE_DELETERS), "it deletes every file that it finds"],
  ["xargs", runs(FILE_DELETERS), "it deletes every file in its input"],
  ["parallel", /(?:^| )(?:\S*\/)?(?:rm|shred|unlink)(?: |$)/, "it deletes every file in its input"],
  ["mv", word(/^\/dev\/null$/), "it discards files"],
  ["rsync", word(/^--del(?:ete\S*)?$/), "it deletes files that the source does not have"],
  ["sudo doas su pkexec runas", always, "it runs with another user's rights"],
  ["chmod chown chgrp", option("R", "--recursive"), "it changes owners or permissions of whole folders"],
  ["chmod", word(/^0?777$|^(?:a|o|ugo)?\+[rwx]*w/), "it lets every user write"],
  ["tee cp install truncate", word(DEVICE), "it writes to a device"],
  ["truncate", always, "it truncates files"],
  [
    "python perl ruby node php",
    (words, command) => DELETING.test(`${words.join(" ")}\n${inputOf(command)}`),
    "its program deletes files or runs commands",
  ],
  ["dd", word(/^of=/), "it overwrites a file or device"],
  ["mkfs fdisk sfdisk cfdisk parted wipefs mkswap diskutil format", always, "it changes disks"],
  ["shutdown reboot halt poweroff", always, "it stops the machine"],
  ["systemctl", word(/^(?:poweroff|reboot|halt|kexec)$/), "it stops the machine"],
  ["killall pkill", always, "it stops processes by name, including other programs"],
  [
    "kill",
    (words) =>
      words.slice(words[0] === "-s" || words[0] === "-n" ? 2 : 1).some((each) => /^(?:-1|0)$/.test(each)),
    "it stops all processes",
  ],
  ["crontab", option("r"), "it deletes all scheduled jobs"],
  ["userdel groupdel deluser", always, "it deletes accounts"],
  ["iptables nft ufw", word(/^(?:-F|--flush|flush|disable|reset)$/), "it opens the firewall"],

  [
    "git",
    /^push\b.*(?: --force(?:-with-lease)?(?:=\S*)?| -[a-zA-Z]*f[a-zA-Z]*| --mirror| --prune| \+\S+)(?: |$)/,
    "it overwrites history on the server",
  ],
  ["git", /^push\b.*(?: --delete| -[a-zA-Z]*d| :\S+)(?: |$)/, "it deletes branches or tags on the server"],
  ["git", /^reset\b.* --(?:hard|merge)\b/, "it discards uncommitted changes"],
  ["git", /^clean\b(?!.* (?:-[a-zA-Z]*n|--dry-run)).* (?:-[a-zA-Z]*f|--force)/, "it deletes untracked files"],
  [
    "git",
    /^(?:checkout|restore|switch)\b(?!.* (?:--staged|-S)(?: |$)(?!.* (?:--worktree|-W)))(?=.* (?:\.|:\/|\*|-f|--force|--discard-changes)(?: |$))/,
    "it discards uncommitted changes",
  ],
  ["git", /^stash (?:drop|clear)\b/, "it discards stashed changes"],
  [
    "git",
    /^branch\b.* (?:-[a-zA-Z]*D|(?:-d|--delete) .*(?:-f|--force)|--force .*(?:-d|--delete))(?: |$)/,
    "it deletes unmerged branches",
  ],
  [
    "git",
    /^(?:filter-branch|filter-repo|reflog (?:expire|delete)|update-ref .*-d|gc\b.*--prune=(?:now|all)|prune\b|worktree remove .*(?:-f|--force)\b)/,
    "it rewrites or deletes history",
  ],
  [
    "gh glab",
    /^(?:repo|release|secret|variable|issue|gist|workflow) delete\b/,
    "it deletes data on the server",
  ],

  [
    "npm pnpm yarn bun",
    /^(?:(?:recursive|multi|m|workspace \S+|workspaces foreach(?: -\S+)*) )?(?:npm )?(?:publish|unpublish|deprecate|dist-tag (?:add|rm)|owner|access|token)\b/,
    "it publishes packages, or changes published ones",
  ],
  ["npx pnpx bunx lerna changeset", /(?:^| )publish\b/, "it publishes packages"],
  [
    "pnpm yarn npm bun",
    /(?:^| )-{0,2}(?:exec|dlx|x|run)? ?(?:changeset|lerna|semantic-release)\b.*\b(?:publish|release)\b/,
    "it publishes packages",
  ],
  ["cargo", /^(?:publish|yank|owner)\b/, "it publishes packages, or changes published ones"],
  ["poetry uv flit hatch rye", /^publish\b/, "it publishes packages"],
  ["twine", /^upload\b/, "it publishes packages"],
  ["gem", /^(?:push|yank)\b/, "it publishes packages, or changes published ones"],
  [
    "mvn gradle gradlew mvnw",
    /(?:^| |:)(?:deploy|publish\S*|release:perform)(?: |$)/,
    "it publishes packages",
  ],
  ["dotnet nuget", /^(?:nuget )?(?:push|delete)\b/, "it publishes packages, or changes published ones"],
  ["docker podman", /^(?:image )?push\b/, "it publishes images"],

  [
    "docker podman",
    /^(?:(?:system|volume|image|container|network|builder) (?:prune|rm|remove)|rm\b.* -[a-zA-Z]*[fv]|rmi\b|compose\b.* down\b.* (?:-v|--volumes|--rmi)|volume rm)/,
    "it deletes containers, images or volumes",
  ],
  ["docker-compose", /(?:^| )down\b.* (?:-v|--volumes|--rmi)/, "it deletes volumes or images"],
  ["kubectl oc", /(?:^| )(?:delete|drain|replace .*--force)(?: |$)/, "it deletes resources in the cluster"],
  ["helm", /^(?:uninstall|delete|rollback)\b/, "it removes or rolls back releases in the cluster"],
  [
    "terraform tofu pulumi cdk sls serverless",
    /^(?:.* )?(?:destroy|remove)(?: |$)|^apply\b.* -auto-approve|^state rm\b|^up\b.* (?:-y|--yes)\b/,
    "it changes or destroys running services",
  ],
  [
    "aws",
    /(?:^| )(?:(?:delete|terminate|deregister|purge)-\S+|s3 (?:rm|rb)\b.*|s3 sync .*--delete)(?: |$)/,
    "it deletes resources in the cloud",
  ],
  [
    "gcloud az gsutil doctl flyctl fly heroku",
    /(?:^| |:)(?:delete|destroy|rm|purge)(?: |$)/,
    "it deletes resources in the cloud",
  ],

  ["dropdb dropuser", always, "it deletes a database"],
  ["redis-cli", /\bflush(?:all|db)\b/i, "it empties a database"],
  ["mongo mongosh", /\b(?:dropDatabase|drop|deleteMany|remove)\s*\(/, "it deletes data"],
  ["mysqladmin", /(?:^| )drop\b/, "it deletes a database"],
  ["rails rake", /(?:^| )db:(?:drop|reset|purge|schema:load|migrate:reset)\b/, "it empties a database"],
  [
    "prisma npx pnpm yarn",
    /(?:^| )(?:prisma )?(?:migrate reset|db push .*--(?:force-reset|accept-data-loss))\b/,
    "it empties a database",
  ],
  [
    "psql mysql mariadb sqlite3 sqlcmd duckdb clickhouse-client cockroach usql",
    (words, command) => SQL.test(`${words.join(" ")}\n${inputOf(command)}`),
    "it deletes tables or all their rows",
  ],
];

const SHELLS = /^(?:bash|sh|zsh|dash|ksh|fish|python[\d.]*|perl|ruby|node|eval|source|\.)$/;
const DOWNLOADS = /^(?:curl|wget|fetch|aria2c|http|https|xh)$/;

/** What of these commands should be asked about, in order. */
export function dangersOf(line: string, commands: readonly ShellCommand[]): Danger[] {
  const found = commands.flatMap((command) => {
    const reason = reasonOf(command);
    return reason === undefined ? [] : [{ command: worded(command), reason }];
  });
  // Its parts alone are harmless.
  if (/(?:^|[\s;&|])([\w:.]+)\s*\(\)\s*\{[^}]*\1\s*\|\s*\1\s*&/.test(line))
    found.push({ command: line.trim(), reason: "it starts processes endlessly" });
  return found;
}

/** A command in words, its redirections that write included. */
export function worded({ name, args, redirects }: ShellCommand): string {
  const writes = redirects.filter(({ operator }) => operator !== "<");
  return [
    name,
    ...args.map(({ text }) => text),
    ...writes.flatMap(({ operator, target }) => [operator, target.text]),
  ]
    .join(" ")
    .trim();
}

function reasonOf(command: ShellCommand): string | undefined {
  const { name, args, redirects } = command;
  if (command.isDynamic === true) return "the program is only known at run time";
  if (redirects.some(({ operator, target }) => operator !== "<" && DEVICE.test(target.text)))
    return "it writes to a device";
  if (isForeignCode(command)) return "it runs downloaded or hidden code";
  const words = withoutOwnOptions(
    name,
    args.map(({ text }) => text),
  );
  const row = ROWS.find(
    ([programs, isDanger]) =>
      programs.split(" ").some((each) => each === name || (versioned.has(each) && isVersion(name, each))) &&
      (isDanger instanceof RegExp ? isDanger.test(words.join(" ")) : isDanger(words, command)),
  );
  return row?.[2];
}

/** `mkfs.ext4`, `python3.12` */
const versioned = new Set(["mkfs", "python", "perl", "ruby", "node", "php"]);

function isVersion(name: string, program: string): boolean {
  return name.startsWith(program) && /^(?:\.\w+|[\d.]+)$/.test(name.slice(program.length));
}

const REAL_SHELLS = /^(?:bash|sh|zsh|dash|ksh|ash|fish)$/;
/** What these write is in the line, or in a file of the project. */
const READABLE = /^(?:echo|printf|cat|tee|head|tail)$/;

/** `curl … | sh` in its many forms. */
function isForeignCode(command: ShellCommand): boolean {
  if (!SHELLS.test(command.name)) return false;
  if (command.substituted.some(({ name }) => DOWNLOADS.test(name))) return true;
  const scripts = command.args.filter(({ text }) => !/^-|^\/dev\/(?:stdin|fd\/0)$/.test(text));
  if (scripts.length > 0 && !command.args.some(({ text }) => text === "-s" || text === "-")) return false;
  for (let before = command.readsFrom; before !== undefined; before = before.readsFrom)
    if (REAL_SHELLS.test(command.name) && !READABLE.test(before.name)) return true;
    else if (DOWNLOADS.test(before.name) || /^(?:base64|xxd|openssl)$/.test(before.name)) return true;
  return false;
}

/** What stands in front of a subcommand: `git -C folder push` is `push`. */
function withoutOwnOptions(name: string, words: readonly string[]): readonly string[] {
  if (!/^(?:git|docker|podman|npm|pnpm|yarn|cargo|helm|gh)$/.test(name)) return words;
  let at = 0;
  while (words[at]?.startsWith("-"))
    at +=
      (name === "npm" && /^(?:-w|--workspace)$/.test(words[at]!)) ||
      /^(?:-C|-c|--git-dir|--work-tree|--namespace|-H|--host|--context|--prefix|--dir|-n|--kube-context|-R|--repo|--filter|-F)$/.test(
        words[at]!,
      )
        ? 2
        : 1;
  return words.slice(at);
}

/** What a client of a database is given to do, where it stands in the line. */
function inputOf({ input = "", readsFrom }: ShellCommand): string {
  const isText = readsFrom?.name === "echo" || readsFrom?.name === "printf" || readsFrom?.name === "cat";
  return isText
    ? `${input}\n${readsFrom.args.map(({ text }) => text).join(" ")}\n${readsFrom.input ?? ""}`
    : input;
}
