/** One program with its arguments, without redirections, variables set in front and shell keywords. */
export interface SimpleCommand {
  /** Each argument's value, quotes resolved. */
  words: readonly string[];
  /** True at the places of words that stand in quotes: no verb is looked for in them. */
  quoted: readonly boolean[];
  /** Each argument as it is written. */
  raws: readonly string[];
  /** As written, one space between words. */
  text: string;
  /** What is put in: a here-document, or the name of a file. */
  input: string;
  /** Files that are written by a redirection. */
  output: string;
  /** The program that reads the output, with its arguments; absent where none does. */
  pipedTo?: SimpleCommand;
  /** Runs only where what stands before it failed. */
  isFallback: boolean;
  folder?: string;
}

/** Commands with one exit code: what stands between `;`, `&` and line ends. */
export interface CommandGroup {
  commands: readonly SimpleCommand[];
  /** Something after a command decides the exit code: `a | tail`, `a || true`. */
  isExitHidden: boolean;
}

/** Longer commands are scripts; what they do is told in front. */
const maxChars = 50_000;

/** Reads a shell command, or a whole script. Never throws; what cannot be read in quotes is one word. */
export function commandGroups(written: string): CommandGroup[] {
  const { text, bodies } = withoutHereDocuments(written);
  const reader = new ScriptReader(bodies);
  let at = 0;
  while (at < text.length) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text)!;
    at = TOKEN.lastIndex;
    if (match[1] !== undefined) at = endOfSubstitution(text, at);
    reader.read(text.slice(match.index, at), match);
  }
  return reader.end();
}

/** One of: blank, comment, redirection, operator, quotes, `$(` or a backtick, anything else. */
const TOKEN =
  /(?:[ \t\r]|\\\r?\n)+|(\$\(|`)|(\d?(?:&>>?|>>|>\||>&|>|<<<|<<-?|<&|<)&?)|(\n|;+|&&|\|\||\|&|[|&()])|('[^']*'?|"[^"\\]*(?:\\[\s\S][^"\\]*)*"?)|\\[\s\S]?|[^\s'"\\;&|<>()`$\d]+|[\s\S]/y;

/** Behind the closing sign of what was opened before `at`; the end where nothing closes it. */
function endOfSubstitution(text: string, at: number): number {
  if (text[at - 1] === "`") {
    const end = text.indexOf("`", at);
    return end < 0 ? text.length : end + 1;
  }
  let depth = 1;
  for (let next = at; next < text.length; next++) {
    if (text[next] === "(") depth++;
    else if (text[next] === ")" && --depth === 0) return next + 1;
  }
  return text.length;
}

interface HereDocuments {
  text: string;
  bodies: Map<string, string[]>;
}

const HERE_DOCUMENT = /(?<!<)<<-?\s{0,3}(["']?)(\w{1,60})\1/g;

/** Bodies are taken out first, also inside quotes: a message that is written as one may hold any quotes. */
function withoutHereDocuments(written: string): HereDocuments {
  const bodies = new Map<string, string[]>();
  if (!written.includes("<<")) return { text: written.slice(0, maxChars), bodies };
  const lines = written.split("\n");
  const lastAt = new Map(lines.map((line, at) => [line.trim(), at]));
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    kept.push(line);
    for (const [, , tag] of line.matchAll(HERE_DOCUMENT)) {
      if ((lastAt.get(tag!) ?? -1) <= at) continue;
      const from = at + 1;
      while (lines[++at]!.trim() !== tag);
      bodies.set(tag!, [...(bodies.get(tag!) ?? []).slice(0, 50), lines.slice(from, at).join("\n")]);
    }
  }
  return { text: kept.join("\n").slice(0, maxChars), bodies };
}

const KEYWORDS = new Set(["then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"]);
const NO_COMMANDS = new Set(["for", "case", "select", "done", "fi", "esac", "}", "function", "[[", "["]);

class ScriptReader {
  #groups: CommandGroup[] = [];
  #commands: Array<SimpleCommand & { pipedTo?: SimpleCommand }> = [];
  #isHidden = false;
  #isFallback = false;
  #isPiped = false;
  #hasPipefail = false;
  #folder: string | undefined;
  readonly #bodies: Map<string, string[]>;

  #words: Array<{ value: string; raw: string; quoted: boolean }> = [];
  #word: { value: string; raw: string; quoted: boolean } | undefined;
  #redirect = "";
  #input = "";
  #output = "";
  #isComment = false;

  constructor(bodies: Map<string, string[]>) {
    this.#bodies = bodies;
  }

  read(text: string, match: RegExpExecArray): void {
    const [, , redirect, operator, quoted] = match;
    if (this.#isComment && text !== "\n") return;
    if (operator !== undefined) this.#operator(operator);
    else if (redirect !== undefined) this.#startRedirect(redirect);
    else if (quoted !== undefined) this.#extend(unquoted(quoted), quoted, true);
    else if (match[1] !== undefined) this.#extend(text, text, true);
    else if (/^\s|^\\\r?\n/.test(text)) this.#endWord();
    else if (text.startsWith("#") && this.#word === undefined) this.#isComment = true;
    else this.#extend(text.startsWith("\\") ? text.slice(1) : text, text, false);
  }

  end(): CommandGroup[] {
    this.#endGroup();
    return this.#groups;
  }

  #extend(value: string, raw: string, quoted: boolean): void {
    this.#word ??= { value: "", raw: "", quoted: false };
    this.#word.value += value;
    this.#word.raw += raw;
    this.#word.quoted ||= quoted && /\s/.test(value);
  }

  #startRedirect(redirect: string): void {
    this.#endWord();
    this.#redirect = redirect;
  }

  #endWord(): void {
    const word = this.#word;
    if (word === undefined) return;
    this.#word = undefined;
    const redirect = this.#redirect;
    this.#redirect = "";
    if (redirect === "") this.#words.push(word);
    else if (redirect === "<<" || redirect === "<<-")
      this.#input += this.#bodies.get(word.value)?.shift() ?? "";
    else if (redirect.includes("<")) this.#input += word.value;
    else if (!redirect.includes("&")) this.#output = word.value;
  }

  #operator(operator: string): void {
    this.#endCommand(operator.startsWith("|") && operator !== "||");
    if (operator === "||") this.#isHidden = this.#isFallback = true;
    else if (/^(?:\n|;|&$)/.test(operator)) this.#endGroup();
    this.#isComment = false;
  }

  #endCommand(isPiped: boolean): void {
    this.#endWord();
    this.#redirect = "";
    const command = this.#simpleCommand();
    if (command !== undefined) {
      const before = this.#commands.at(-1);
      if (this.#isPiped && before !== undefined) before.pipedTo = command;
      this.#commands.push(command);
      if (command.words[0] === "cd" && command.words[1] !== undefined) this.#folder = command.words[1];
      if (command.words[0] === "set" && command.words.includes("pipefail")) this.#hasPipefail = true;
    }
    this.#isPiped = isPiped;
    if (isPiped && !this.#hasPipefail) this.#isHidden = true;
  }

  #simpleCommand(): SimpleCommand | undefined {
    const words = this.#words;
    const [input, output] = [this.#input, this.#output];
    this.#words = [];
    this.#input = this.#output = "";
    let from = 0;
    while (words[from] !== undefined && isInFront(words[from]!.value)) from++;
    const own = words.slice(from);
    if (own.length === 0 || NO_COMMANDS.has(own[0]!.value)) return undefined;
    return {
      words: own.map(({ value }) => value),
      quoted: own.map(({ quoted }) => quoted),
      raws: own.map(({ raw }) => raw),
      text: own.map(({ raw }) => raw).join(" "),
      input,
      output,
      isFallback: this.#isFallback,
      ...(this.#folder !== undefined && { folder: this.#folder }),
    };
  }

  #endGroup(): void {
    this.#endCommand(false);
    if (this.#commands.length > 0)
      this.#groups.push({ commands: this.#commands, isExitHidden: this.#isHidden });
    this.#commands = [];
    this.#isHidden = this.#isFallback = false;
  }
}

function isInFront(word: string): boolean {
  return KEYWORDS.has(word) || /^[A-Za-z_]\w*\+?=/.test(word);
}

function unquoted(quoted: string): string {
  const inner = quoted.length > 1 && quoted.endsWith(quoted[0]!) ? quoted.slice(1, -1) : quoted.slice(1);
  return quoted.startsWith("'") ? inner : inner.replace(/\\(["\\$`])/g, "$1");
}
