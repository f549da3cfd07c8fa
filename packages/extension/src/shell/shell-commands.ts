import {
  checkSize,
  expandWord,
  isDynamicName,
  readParenthesis,
  readQuoted,
  readWord,
  type ShellWord,
  setVariables,
  unescaped,
  type Variables,
} from "./shell-word.ts";
import { isShell, type RunBy, runBy } from "./wrapped-commands.ts";

export interface ShellRedirect {
  /** `>`, `>>`, `>|`, `&>`, `&>>`, `>&`, `<>` or `<`. */
  operator: string;
  target: ShellWord;
}

/** A command that a line of shell runs: one program with its arguments. */
export interface ShellCommand {
  /** The program's, without its folder; empty where there are only redirections. */
  name: string;
  /** True where the name only shows when the line is run: by a variable, a substitution, a wildcard. */
  isDynamic?: boolean;
  /** Behind the name. */
  args: readonly ShellWord[];
  redirects: readonly ShellRedirect[];
  /** The text of a here-document or here-string. */
  input?: string;
  /** What stands before it in a pipe. */
  readsFrom?: ShellCommand;
  /** Those within `$(…)`, backticks, `<(…)` and `>(…)` of its words; they stand in the list as well. */
  substituted: readonly ShellCommand[];
}

/** Deeper than anybody nests. */
const MOST_DEPTH = 20;
const KEYWORDS = new Set("if then elif else fi do done while until ! { } coproc in esac".split(" "));
/** Their words name no program. */
const HEADS = new Set(["for", "case", "select"]);
const REDIRECT = /^(?:\d*|\{\w+\})(<<<|<<-|<<|<>|<&|<|>>|>\||>&|>)|^(&>>|&>)/;
const OPERATOR = /^(?:&&|\|\||\|&|;;&|;;|;&|[;&|()\n])/;

/**
 * The commands that a line of shell would run, in order, each program with its arguments as it gets them: without quotes,
 * through `;`, `&&`, pipes, subshells, functions, `bash -c`, `eval`, `xargs`, `sudo`, `env`, `find -exec`, here-documents
 * for a shell, braces, and variables that the line itself sets once. For guards against accidents: what only shows when
 * the line is run (other variables, scripts in files) is not seen; a program whose name does is `isDynamic`.
 * @throws RangeError for what is nested deeper than anybody writes; a guard that throws refuses
 */
export function shellCommands(line: string): ShellCommand[] {
  return commandsIn(line, 0, new Map());
}

function commandsIn(source: string, depth: number, variables: Variables): ShellCommand[] {
  if (depth > MOST_DEPTH) throw new RangeError("The command has too many nested levels.");
  return new LineReader(source, depth, new Map(variables)).read();
}

interface Draft {
  words: ShellWord[];
  redirects: ShellRedirect[];
  input?: string;
  /** Of `case`: it names no program. */
  isPattern?: boolean;
}

interface HereDocument {
  draft: Draft;
  delimiter: ShellWord;
  hasTabs: boolean;
}

/** Owner of the place up to which a line was read, and of the variables that it sets. */
class LineReader {
  readonly #source: string;
  readonly #depth: number;
  readonly #found: ShellCommand[] = [];
  readonly #drafts: { draft: Draft; isPiped: boolean }[] = [];
  #awaited: HereDocument[] = [];
  #draft: Draft = { words: [], redirects: [] };
  #isPiped = false;
  #at = 0;
  /** How many parentheses are open. */
  #open = 0;
  readonly #variables: Variables;

  constructor(source: string, depth: number, variables: Variables) {
    this.#variables = variables;
    this.#source = source;
    this.#depth = depth;
  }

  read(): ShellCommand[] {
    while (this.#at < this.#source.length) this.#step();
    this.#finish();
    // Only now, for the body of a here-document stands behind the rest of its line.
    let before: ShellCommand | undefined;
    for (const { draft, isPiped } of this.#drafts)
      before = this.#add(draft, isPiped ? before : undefined) ?? before;
    return this.#found;
  }

  #step(): void {
    const rest = this.#source.slice(this.#at, this.#at + 40);
    const redirect = REDIRECT.exec(rest);
    const isProcess = /^[<>]\(/.test(rest);
    if (/^[ \t\r]|^\\\r?\n/.test(rest)) this.#at += /^(?:[ \t\r]|\\\r?\n)/.exec(rest)![0].length;
    else if (rest.startsWith("#")) this.#at += /^[^\n]*/.exec(this.#source.slice(this.#at))![0].length;
    else if (redirect !== null && !isProcess) this.#redirect(redirect);
    else if (rest.startsWith("((") && this.#isAtStart()) this.#arithmetic();
    else if (OPERATOR.test(rest)) this.#operator(OPERATOR.exec(rest)![0]);
    else this.#draft.words.push(this.#word());
  }

  /** Where a command begins, behind nothing but words of the shell's own. */
  #isAtStart(): boolean {
    return this.#draft.words.every(({ text, isPlain }) => isPlain && (KEYWORDS.has(text) || text === "for"));
  }

  #arithmetic(): void {
    const word: ShellWord = { text: "", isPlain: false, substitutions: [] };
    const place = { open: this.#at, before: "", kind: "y" as const };
    this.#at = readParenthesis(this.#source, place, word);
    this.#draft.words.push({ ...word, text: "((" });
  }

  #word(): ShellWord {
    const { word, end } = readWord(this.#source, this.#at);
    this.#at = end;
    return word;
  }

  #redirect([whole, plain, both]: RegExpExecArray): void {
    const operator = plain ?? both!;
    this.#at += whole.length;
    this.#at += /^[ \t]*/.exec(this.#source.slice(this.#at))![0].length;
    const target = this.#word();
    if (operator === "<<" || operator === "<<-")
      this.#awaited.push({ draft: this.#draft, delimiter: target, hasTabs: operator === "<<-" });
    else if (operator === "<<<") {
      this.#draft.input = expandWord(target, this.#variables)
        .map(({ text }) => text)
        .join(" ");
      this.#draft.redirects.push({ operator: "<<", target });
    }
    // `2>&1` and `>&-` open no file.
    else if (!/&$/.test(operator) || !/^(?:\d+-?|-)$/.test(target.text))
      this.#draft.redirects.push({ operator, target });
  }

  #operator(operator: string): void {
    this.#at += operator.length;
    this.#finish();
    if (operator === "(") this.#open += 1;
    if (operator === ")" && this.#open === 0) this.#endPattern();
    else if (operator === ")") this.#open -= 1;
    if (operator === "|" || operator === "|&") this.#isPiped = true;
    // A pipe goes on behind a line's end, and into a subshell.
    else if (operator !== "\n" && operator !== "(") this.#isPiped = false;
    if (operator === "\n") for (const document of this.#awaited.splice(0)) this.#body(document);
  }

  /** A parenthesis that was never opened ends a pattern of `case`, with all that stands before it and a bar. */
  #endPattern(): void {
    for (let at = this.#drafts.length - 1; at >= 0; at--) {
      const { draft, isPiped } = this.#drafts[at]!;
      draft.isPattern = true;
      if (!isPiped) return;
    }
  }

  /** Reads the lines of a here-document. */
  #body({ draft, delimiter, hasTabs }: HereDocument): void {
    const lines: string[] = [];
    while (this.#at < this.#source.length) {
      const [line = ""] = /^[^\n]*/.exec(this.#source.slice(this.#at)) ?? [];
      this.#at += line.length + 1;
      const bare = hasTabs ? line.replace(/^\t+/, "") : line;
      if (bare === delimiter.text) break;
      lines.push(bare);
    }
    draft.input = lines.join("\n");
    const body: ShellWord = { text: "", isPlain: false, substitutions: [] };
    if (delimiter.isPlain) readQuoted(draft.input, 0, body);
    delimiter.substitutions.push(...body.substitutions);
    draft.redirects.push({ operator: "<<", target: delimiter });
  }

  #finish(): void {
    const { words, redirects } = this.#draft;
    if (
      words.length === 0 &&
      redirects.length === 0 &&
      !this.#awaited.some(({ draft }) => draft === this.#draft)
    )
      return;
    this.#drafts.push({ draft: this.#draft, isPiped: this.#isPiped });
    this.#draft = { words: [], redirects: [] };
    this.#isPiped = false;
  }

  /** Adds a command, and what it runs in its turn. */
  #add(draft: Draft, readsFrom: ShellCommand | undefined): ShellCommand | undefined {
    const substituted = [...draft.words, ...draft.redirects.map(({ target }) => target)]
      .flatMap(({ substitutions }) => substitutions)
      .flatMap((text) => commandsIn(text, this.#depth + 1, this.#variables));
    const redirects = draft.redirects.filter(({ operator }) => operator !== "<<");
    const words = draft.words.flatMap((word) => expandWord(word, this.#variables));
    const command = commandOf({ ...draft, words, redirects }, { substituted, readsFrom });
    if (command !== undefined)
      this.#found.push(command, ...runThrough(command, this.#depth + 1, this.#variables));
    setVariables(
      words.filter(({ text, isPlain }) => !(isPlain && KEYWORDS.has(text))),
      this.#variables,
    );
    this.#found.push(...substituted);
    return command;
  }
}

function commandOf(
  { words, redirects, input, isPattern = false }: Draft,
  { substituted, readsFrom }: { substituted: ShellCommand[]; readsFrom: ShellCommand | undefined },
): ShellCommand | undefined {
  const isFunction = words[0]?.isPlain === true && words[0].text === "function";
  const begin = words.findIndex(
    ({ text, isPlain }, at) =>
      !(isFunction && at < 2) &&
      !(words[at - 1]?.text === "coproc" && words[at + 1]?.text === "{") &&
      !(isPlain && KEYWORDS.has(text)) &&
      !/^\w+(?:\[[^\]]*\])?\+?=/.test(text),
  );
  const [first, ...args] = begin === -1 ? [] : words.slice(begin);
  if (first?.isPlain && HEADS.has(first.text)) return undefined;
  if (first === undefined && redirects.length === 0) return undefined;
  return {
    name: (first?.text ?? "").replace(/^.*[\\/]/s, "").replace(/\.exe$/i, ""),
    ...(first !== undefined && !isPattern && isDynamicName(first) ? { isDynamic: true } : {}),
    args,
    redirects,
    substituted,
    ...(input === undefined ? {} : { input }),
    ...(readsFrom === undefined ? {} : { readsFrom }),
  };
}

/** The commands that a program is given to run, and those that they run. */
function runThrough(command: ShellCommand, depth: number, variables: Variables): ShellCommand[] {
  if (depth > MOST_DEPTH) throw new RangeError("The command has too many nested levels.");
  const given: RunBy[] = [...runBy(command), ...readByShell(command)];
  return given.flatMap((each) => {
    if ("text" in each) return commandsIn(each.text, depth, variables);
    const { readsFrom } = command;
    const inner = commandOf({ words: [...each.words], redirects: [] }, { substituted: [], readsFrom });
    if (inner === undefined) return [];
    if (command.input !== undefined) inner.input = command.input;
    return [inner, ...runThrough(inner, depth + 1, variables)];
  });
}

/** Files that are the standard input by another name. */
const STANDARD_INPUT = /^(?:-|\/dev\/stdin|\/(?:dev|proc\/self)\/fd\/0)$/;

/** What a shell without a script in a file reads, where it stands in the line itself. */
function readByShell({ name, args, redirects, input, readsFrom }: ShellCommand): RunBy[] {
  const isSourced = name === "source" || name === ".";
  if (!isShell(name) && !isSourced) return [];
  const script = args.find(
    ({ text }, at) => (!text.startsWith("-") || text === "-") && args[at - 1]?.text !== "-o",
  );
  const read = redirects.findLast(({ operator }) => operator === "<")?.target;
  for (const word of [script, read]) {
    const program = word === undefined ? undefined : substitutedProcess(word);
    // As if it stood before the shell in a pipe.
    if (program !== undefined) return [{ text: `(${program}) | sh` }];
  }
  const isFile = isSourced || args.every(({ text }) => !/^-[a-zA-Z]*s$/.test(text));
  if (isFile && (script === undefined ? isSourced : !STANDARD_INPUT.test(script.text))) return [];
  const text = input ?? (readsFrom === undefined ? undefined : written(readsFrom));
  return text === undefined ? [] : [{ text }];
}

/** The commands of a word that is `<(…)`. */
function substitutedProcess({ text, kinds }: ShellWord): string | undefined {
  return kinds?.[0] === "x" && text.startsWith("<(") && text.endsWith(")") ? text.slice(2, -1) : undefined;
}

/** What a command writes, where that stands in the line itself. */
function written({ name, args, input, readsFrom }: ShellCommand): string | undefined {
  const words = args.map(({ text }) => text);
  if (name === "echo") return unescaped(words.slice(countLeading(words, /^-[neE]+$/)).join(" "));
  if (name === "printf") return unescaped(formatted(words.slice(countLeading(words, /^--$/))));
  const isPassed =
    name === "tee" || (name === "cat" && words.every((word) => /^-/.test(word) || STANDARD_INPUT.test(word)));
  if (!isPassed) return undefined;
  return input ?? (readsFrom === undefined ? undefined : written(readsFrom));
}

function countLeading(words: readonly string[], option: RegExp): number {
  const at = words.findIndex((word) => !option.test(word));
  return at === -1 ? words.length : at;
}

/** What `printf` makes of its format: it is repeated until no word is left. */
function formatted([format = "", ...values]: readonly string[]): string {
  let text = "";
  let at = 0;
  do {
    const begin = at;
    text += format.replaceAll(/%(?:%|[-+ #0]*\d*(?:\.\d+)?[a-zA-Z])/g, (found) =>
      found === "%%" ? "%" : (values[at++] ?? ""),
    );
    checkSize(text.length);
    if (at === begin) break;
  } while (at < values.length);
  return text;
}
