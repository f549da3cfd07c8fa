import { baseName, hasOption, operandsOf, partsOf, programOf } from "./command-words.ts";
import { isDryRun, isIrreversibleByArguments } from "./irreversible.ts";
import { type CommandGroup, commandGroups, type SimpleCommand } from "./shell.ts";
import {
  ACTING_BARE,
  ACTING_VERBS,
  INTERPRETERS,
  JUDGING,
  LOCAL_VERBS,
  LOOKING,
  LOOKING_VERBS,
  NOUNS,
  OF_SEVERAL_VERBS,
  PHRASES,
  PLUMBING,
  REMOTE_PROGRAMS,
  REMOTE_VERBS,
  WRAPPERS,
} from "./verbs.ts";

/**
 * What a command does: it looks, moves files about ("plumbing"), tests, builds or checks ("judge"), cannot be taken back
 * ("act"), or anything else.
 */
export type CommandKind = "look" | "plumbing" | "judge" | "act" | "run";

export interface Command extends SimpleCommand {
  kind: CommandKind;
}

/** The commands of a shell command; what is only wrapped around them (`sudo`, `timeout 60`, `bash -c`, `ssh host`) is taken off. */
export function readCommands(written: string): CommandGroup<Command>[] {
  return unwrapped(commandGroups(written), 3).map((group) => ({
    ...group,
    commands: group.commands.map((command) => ({ ...command, kind: kindOf(command) })),
  }));
}

function kindOf(written: SimpleCommand): CommandKind {
  const command = withoutRunner(written);
  const program = programOf(command);
  if (isIrreversibleByArguments(command)) return "act";
  if (LOOKING.has(program)) return "look";
  if (PLUMBING.has(program)) return "plumbing";
  const phrases = Object.hasOwn(PHRASES, program) ? PHRASES[program]! : ["*"];
  const kind = phrases.some((phrase) => matches(command, phrase))
    ? "act"
    : kindByVerb(command, phrases.at(-1) === "*");
  return kind === "act" && isDryRun(command) ? "look" : kind;
}

function matches(command: SimpleCommand, phrase: string): boolean {
  if (phrase === "*") return false;
  const operands = operandsOf(command).slice(0, 6);
  let at = 0;
  return phrase.split(" ").every((token) => {
    if (token === "+") return operands.length > at;
    if (token.startsWith("-")) return hasOption(command, token);
    const found = operands.findIndex(
      (word, place) => place >= at && word.toLowerCase() === token.toLowerCase(),
    );
    // `git stash push` pushes nothing, nor does `pnpm why publish`.
    if (found < 0 || (at === 0 && found > 0 && /^(?:git|p?npm|yarn)$/.test(programOf(command)))) return false;
    at = found + 1;
    return true;
  });
}

/** The first verb decides; where a program takes several, any that acts. */
function kindByVerb(command: SimpleCommand, canAct: boolean): CommandKind {
  const program = programOf(command);
  const operands = operandsOf(command);
  if (ACTING_BARE.has(program) && !operands.some(isVerb)) return "act";
  const isSeveral = OF_SEVERAL_VERBS.has(program);
  const names = namesOf(program, operands).slice(0, isSeveral ? 20 : 6);
  const kinds = names.map((name, at) => kindOfVerb(name, names[at + 1], REMOTE_PROGRAMS.has(program)));
  const telling = kinds.filter((kind) => kind !== undefined && (canAct || kind !== "act"));
  return (isSeveral && telling.find((kind) => kind === "act")) || telling[0] || "run";
}

const isVerb = (word: string): boolean =>
  [LOOKING_VERBS, LOCAL_VERBS, JUDGING, REMOTE_VERBS].some((verbs) => verbs.has(word));

const RUNS_THE_PROJECT = /^(?:cargo|swift|dotnet|flutter|zig)$/;

/** What may be a verb: file names are none, but the script of an interpreter is. */
function namesOf(program: string, operands: readonly string[]): string[] {
  const isFile = (word: string) => /[/\\]|\.\w{1,5}$|^[A-Z]/.test(word);
  if (operands[0] === "run" && RUNS_THE_PROJECT.test(program)) return [];
  if (!INTERPRETERS.has(program.replace(/[\d.]+$/, "")))
    return [program, ...operands.filter((word) => !isFile(word))];
  const [script = "", ...others] = operands[0] === "run" ? operands.slice(1) : operands;
  return [baseName(script), ...others.filter((word) => !isFile(word))];
}

function kindOfVerb(word: string, next: string | undefined, isRemote: boolean): CommandKind | undefined {
  const parts = partsOf(word);
  const has = (verbs: ReadonlySet<string>) => parts.some((part) => verbs.has(part));
  if (/^(?:config|context)$/.test(word)) return "run";
  if (has(JUDGING)) return "judge";
  if (has(LOCAL_VERBS)) return "run";
  // It waits, and fails when what it waits for does: `kubectl rollout status`.
  if (isRemote && /^(?:status|wait|watch|checks)$/.test(word)) return "run";
  if (has(LOOKING_VERBS)) return parts.length === 1 ? "look" : "run";
  if (MIGRATES.test(`${parts.join(" ")} ${next}`)) return "act";
  if (!has(ACTING_VERBS) && !(isRemote && has(REMOTE_VERBS))) return undefined;
  const isNoun = NOUNS.has(word) && next !== undefined && (LOOKING_VERBS.has(next) || LOCAL_VERBS.has(next));
  return isNoun ? "look" : "act";
}

/** `db:reset`, `migration:run`, `migrations apply`. */
const MIGRATES =
  /\b(?:db|pg|database) (?:\w+ )?(?:reset|restore|load|replant)\b|\bmigrations? (?:run|up|apply|revert|down|redo|execute|migrate)\b/;

/** `npx prisma` is `prisma`. */
function withoutRunner(command: SimpleCommand): SimpleCommand {
  const runner =
    /^(?:(?:npx|bunx|uvx)|(?:pnpm|npm|yarn|bundle) exec|(?:pnpm|yarn) dlx|(?:poetry|uv|pipenv|pdm|rye|hatch|pipx|conda) run)(?: -\S+)* /.exec(
      `${command.words.slice(0, 6).join(" ")} `,
    );
  const count = runner === null ? 0 : runner[0].trim().split(" ").length;
  return count === 0 || count >= command.words.length ? command : from(command, count);
}

function unwrapped(groups: readonly CommandGroup[], depth: number): CommandGroup[] {
  return groups.flatMap((group) => {
    const commands = group.commands.map(withoutWrapper);
    const scripts = commands.map((command) => (depth > 0 ? scriptOf(command) : undefined));
    if (commands.length === 1 && scripts[0] !== undefined)
      return unwrapped(commandGroups(scripts[0]), depth - 1);
    const inner = commands.flatMap((command, at) =>
      scripts[at] === undefined
        ? [command]
        : unwrapped(commandGroups(scripts[at]), depth - 1).flatMap((nested) => nested.commands),
    );
    return [{ ...group, commands: inner }];
  });
}

const PASSES_ON = /^(?:kubectl|oc|docker|podman|doppler|dotenv|op|railway|fly|flyctl|heroku|infisical)$/;

function withoutWrapper(command: SimpleCommand): SimpleCommand {
  const { words } = command;
  let at = 0;
  while (WRAPPERS.has(baseName(words[at] ?? ""))) {
    at++;
    while (/^-|^\w+=|^\d+(?:\.\d+)?[smhd]?$|^\{\}$/.test(words[at] ?? ""))
      at += /^-[ugsC]$/.test(words[at]!) ? 2 : 1;
  }
  if (PASSES_ON.test(words[at] ?? "") && words.includes("--")) at = words.indexOf("--") + 1;
  else if (/^(?:docker|podman)(?:-compose)?$/.test(words[at] ?? "")) at = insideContainer(words, at);
  return at === 0 || at >= words.length ? command : from(command, at);
}

/** `docker compose exec -T db psql`: what runs in the container. */
function insideContainer(words: readonly string[], start: number): number {
  const verb = words.includes("compose") || words[start]!.endsWith("-compose") ? /^(?:exec|run)$/ : /^exec$/;
  let at = words.findIndex((word, place) => place > start && verb.test(word)) + 1;
  if (at === 0 || at > start + 6) return start;
  while (words[at]?.startsWith("-")) at += /^(?:-[uwe]|--(?:user|workdir|env))$/.test(words[at]!) ? 2 : 1;
  return at + 1;
}

function from(command: SimpleCommand, at: number): SimpleCommand {
  return { ...command, words: command.words.slice(at), raws: command.raws.slice(at) };
}

/** The script that a shell is given as an argument: `bash -c "…"`, `ssh host "…"`. */
function scriptOf({ words }: SimpleCommand): string | undefined {
  const program = baseName(words[0] ?? "");
  if (program === "eval") return words.slice(1).join(" ");
  if (/^(?:ba|z|da|k)?sh$/.test(program)) {
    const at = words.findIndex((word) => /^-\w*c$/.test(word));
    return at > 0 ? words[at + 1] : undefined;
  }
  if (program !== "ssh") return undefined;
  let at = 1;
  while (words[at]?.startsWith("-")) at += /^-[pilFoJLRDbcEIKmOQSWw]$/.test(words[at]!) ? 2 : 1;
  return at + 1 < words.length ? words.slice(at + 1).join(" ") : undefined;
}
