import { type CommandGroup, commandGroups, type SimpleCommand } from "./shell.ts";

// Names of programs and of their subcommands; these are no language.

export const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

/** Programs that only look, steer the shell, or move files about: nobody waits for them to pass. */
const LOOKUPS = wordSet(
  `ls cat head tail grep egrep fgrep rg ag ack find fd wc pwd which type whereis echo printf tree stat file du df env printenv
  date whoami id hostname uname sleep ps pgrep top true false awk sort uniq jq yq less more man diff cmp cd pushd popd export
  set unset source . test basename dirname realpath readlink cut tr xxd strings history alias open lsof netstat ping dig wait
  jobs kill pkill yes clear md5sum sha256sum curl wget http https exit return shift read local trap command journalctl
  mkdir rm rmdir touch cp mv chmod chown ln sed tee tar zip unzip gzip mktemp vim vi nano dd patch`,
);
export const LOOKING_VERBS = wordSet(
  `get list ls describe show view status log logs diff info help search inspect cat explain history query find outdated tail
  why fetch read browse count`,
);
/** Programs and verbs that test, build or check. */
export const CHECKS = wordSet(
  `test tests spec e2e check lint typecheck build compile vet fmt format verify clippy audit bench coverage ci vitest jest
  pytest unittest mocha rspec phpunit ctest playwright cypress tox tsc tsgo eslint biome prettier oxlint mypy pyright ruff flake8
  stylelint webpack esbuild vite gradle gradlew mvn mvnw cmake ninja bazel gcc clang rustc`,
);
const INTERPRETER = /^(?:node|python[\d.]*|bash|sh|zsh|ruby|perl|php|tsx|ts-node|deno|bun|go)$/;
export interface Command extends SimpleCommand {
  /** As written, without what stands around it. */
  text: string;
  /** The program or its script, and the first words that may be verbs: no options, files or quoted texts. */
  names: readonly string[];
  /** The words that make two runs the same command. */
  identity: readonly string[];
  isLookup: boolean;
  /** It tests, builds or checks. */
  isCheck: boolean;
}

/** The commands of a shell command; what is only wrapped around them (`sudo`, `timeout 60`, `npx`) is taken off. */
export function readCommands(written: string): CommandGroup<Command>[] {
  return commandGroups(written).map((group) => ({ ...group, commands: group.commands.map(readCommand) }));
}

/** What stands in front of the command that matters. */
const WRAPPER =
  /^(?:(?:sudo|doas|env|time|nohup|nice|exec|stdbuf|setsid|g?timeout|xargs)(?: -[ugs] \S+| -\S+| \w+=\S*| \d[\d.]*[smhd]?)* )+/;
const RUNNER =
  /^(?:npx|bunx|uvx|(?:pnpm|npm|yarn|bundle) exec|(?:pnpm|yarn) dlx|(?:poetry|uv|pipenv|pdm|hatch|conda) run)(?: -\S+)* /;

function readCommand(written: SimpleCommand): Command {
  const whole = from(written, WRAPPER);
  const command = from(whole, RUNNER);
  const names = namesOf(command);
  const [program = "", verb = "", next = ""] = names;
  const isNamed = names.slice(0, 4).some((name) => partsOf(name).some((part) => CHECKS.has(part)));
  const isStaged = program === "git" && verb === "add";
  const isLooking = LOOKING_VERBS.has(verb) || (LOOKING_VERBS.has(next) && next !== "status") || isStaged;
  const isLookup = LOOKUPS.has(program) || (isLooking && !isNamed);
  const identity = identityOf(command);
  return { ...command, text: whole.raws.join(" "), names, identity, isLookup, isCheck: isNamed && !isLookup };
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

/** The words within a name, in small letters: `db:migrate`, `delete-stack`, `publishToMavenLocal`. */
export function partsOf(name: string): string[] {
  const spaced = name.slice(0, 80).replace(/([a-z\d])([A-Z])/g, "$1 $2");
  return spaced.toLowerCase().match(/[a-z\d]+/g) ?? [];
}

const UNIMPORTANT =
  /^(?:--|run|-[vqs]+|--(?:verbose|quiet|silent|no-colou?r|colou?r|run|bail|workspaces?|all|reporter|no-cache|force)(?:=.*)?|\.{1,2}\/?|\.\/\.\.\.)$/;

function identityOf({ words }: SimpleCommand): string[] {
  if (words[0] !== "git") return words.filter((word, at) => at === 0 || !UNIMPORTANT.test(word));
  // A commit that passes is the one that failed, whatever its message; a push goes to its branch.
  return words.filter((word) => !word.startsWith("-")).slice(0, words.includes("push") ? 9 : 2);
}

/** True for the same command, and for a check of the same program with fewer words: `npm test` for `npm test -- foo`. */
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

/** True for the same word, and for a folder or file that contains the other. */
function contains(outer: string, inner: string): boolean {
  const folder = outer.replace(/\/(?:\.\.\.)?$/, "");
  return inner === outer || (inner.startsWith(folder) && /^[/:]/.test(inner.slice(folder.length)));
}
