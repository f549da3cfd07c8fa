/** One program with its arguments, without redirections, variables set in front and shell keywords. */
export interface SimpleCommand {
  /** The value of each argument, quotes resolved. */
  words: readonly string[];
  /** Each argument as it is written. */
  raws: readonly string[];
  /** What is put in: a here-document, or the name of a file. */
  input: string;
  /** What reads the output; absent where nothing does. */
  pipedTo?: SimpleCommand;
  /** Runs only where what stands before it failed. */
  isFallback: boolean;
  folder?: string;
}

/** Commands with one exit code: what stands between `;`, `&` and line ends. */
export interface CommandGroup<Command extends SimpleCommand = SimpleCommand> {
  commands: readonly Command[];
  /** Something after a command decides the exit code: `a | tail`, `a || true`. */
  isExitHidden: boolean;
}

/** What is longer is a script, whose beginning tells. */
const maxChars = 50_000;

/** Reads a shell command, or a whole script. Never throws; a quote that nothing closes reaches to the end. */
export function commandGroups(written: string): CommandGroup[] {
  const { text, bodies } = withoutHereDocuments(written);
  const reader = new ScriptReader(bodies);
  for (let at = 0; at < text.length; ) {
    TOKEN.lastIndex = at;
    const { index, groups: kind = {} } = TOKEN.exec(text)!;
    at = kind.opener === undefined ? TOKEN.lastIndex : endOfSubstitution(text, TOKEN.lastIndex);
    reader.read(text.slice(index, at), kind);
  }
  return reader.end();
}

const TOKEN =
  /(?<blank>(?:[ \t\r]|\\\r?\n)+)|(?<opener>\$\(|`)|(?<redirect>\d?(?:&>>?|>>|>\||>&|>|<<<|<<-?|<&|<)&?)|(?<operator>\n|;+|&&|\|\||\|&|[|&()])|(?<quoted>'[^']*'?|"[^"\\]*(?:\\[\s\S][^"\\]*)*"?)|\\[\s\S]?|[^\s'"\\;&|<>()`$\d]+|[\s\S]/y;

/** Behind what closes that which was opened right before `at`; the end of the text where nothing does. */
function endOfSubstitution(text: string, at: number): number {
  const isBacktick = text[at - 1] === "`";
  for (let depth = 1; at < text.length; at++) {
    if (text[at] === (isBacktick ? "`" : ")")) depth--;
    else if (text[at] === "(") depth += isBacktick ? 0 : 1;
    if (depth === 0) return at + 1;
  }
  return at;
}

const HERE_DOCUMENT = /(?<!<)<<-?\s{0,3}(["']?)(\w{1,60})\1/g;

/** Their bodies are taken out first, also inside quotes: a message that is written as one may hold any quotes. */
function withoutHereDocuments(written: string): { text: string; bodies: Map<string, string[]> } {
  const bodies = new Map<string, string[]>();
  if (!written.includes("<<")) return { text: written.slice(0, maxChars), bodies };
  const lines = written.slice(0, 10 * maxChars).split("\n");
  const lastAt = new Map(lines.map((line, at) => [line.trim(), at]));
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    kept.push(line);
    for (const [, , tag = ""] of line.matchAll(HERE_DOCUMENT)) {
      if ((lastAt.get(tag) ?? -1) <= at) continue;
      const from = at + 1;
      while (lines[++at]!.trim() !== tag);
      if (!bodies.has(tag)) bodies.set(tag, []);
      bodies.get(tag)!.push(lines.slice(from, at).join("\n"));
    }
  }
  return { text: kept.join("\n").slice(0, maxChars), bodies };
}

const KEYWORD = /^(?:then|do|else|elif|if|while|until|!|\{|time|[A-Za-z_]\w*\+?=.*)$/s;
const NO_COMMAND = /^(?:for|case|select|done|fi|esac|\}|function|\[\[?)$/;

class ScriptReader {
  readonly #bodies: Map<string, string[]>;
  #groups: CommandGroup[] = [];
  #commands: SimpleCommand[] = [];
  #isExitHidden = false;
  #isFallback = false;
  #isPiped = false;
  #hasPipefail = false;
  #folder: string | undefined;

  #words: Array<{ value: string; raw: string }> = [];
  #word: { value: string; raw: string } | undefined;
  #redirect = "";
  #input = "";
  #isComment = false;

  constructor(bodies: Map<string, string[]>) {
    this.#bodies = bodies;
  }

  read(raw: string, kind: Record<string, string | undefined>): void {
    if (this.#isComment && raw !== "\n") return;
    if (kind.operator !== undefined) this.#operator(raw);
    else if (kind.blank !== undefined) this.#endWord();
    else if (kind.redirect !== undefined) {
      this.#endWord();
      this.#redirect = raw;
    } else if (raw.startsWith("#") && this.#word === undefined) this.#isComment = true;
    else {
      const value = kind.quoted !== undefined ? unquoted(raw) : raw.replace(/^\\/, "");
      this.#word = { value: (this.#word?.value ?? "") + value, raw: (this.#word?.raw ?? "") + raw };
    }
  }

  end(): CommandGroup[] {
    this.#endGroup();
    return this.#groups;
  }

  #endWord(): void {
    const [word, redirect] = [this.#word, this.#redirect];
    if (word === undefined) return;
    this.#word = undefined;
    this.#redirect = "";
    if (redirect === "") this.#words.push(word);
    else if (/<<-?$/.test(redirect)) this.#input += this.#bodies.get(word.value)?.shift() ?? "";
    else if (redirect.includes("<")) this.#input += word.value;
  }

  #operator(operator: string): void {
    this.#endCommand(/^\|&?$/.test(operator));
    if (operator === "||") this.#isExitHidden = this.#isFallback = true;
    else if (/^(?:\n|;+|&)$/.test(operator)) this.#endGroup();
    this.#isComment = false;
  }

  #endCommand(isPiped: boolean): void {
    this.#endWord();
    this.#redirect = "";
    const command = this.#takeCommand();
    const before = this.#commands.at(-1);
    if (command !== undefined) {
      if (this.#isPiped && before !== undefined) before.pipedTo = command;
      this.#commands.push(command);
      if (command.words[0] === "cd" && command.words[1] !== undefined) this.#folder = command.words[1];
      if (command.words[0] === "set" && command.words.includes("pipefail")) this.#hasPipefail = true;
    }
    this.#isPiped = isPiped;
    this.#isExitHidden ||= isPiped && !this.#hasPipefail;
  }

  #takeCommand(): SimpleCommand | undefined {
    const from = this.#words.findIndex(({ value }) => !KEYWORD.test(value));
    const own = from < 0 ? [] : this.#words.slice(from);
    const input = this.#input;
    this.#words = [];
    this.#input = "";
    if (own.length === 0 || NO_COMMAND.test(own[0]!.value)) return undefined;
    return {
      words: own.map(({ value }) => value),
      raws: own.map(({ raw }) => raw),
      input,
      isFallback: this.#isFallback,
      ...(this.#folder !== undefined && { folder: this.#folder }),
    };
  }

  #endGroup(): void {
    this.#endCommand(false);
    if (this.#commands.length > 0)
      this.#groups.push({ commands: this.#commands, isExitHidden: this.#isExitHidden });
    this.#commands = [];
    this.#isExitHidden = this.#isFallback = false;
  }
}

function unquoted(raw: string): string {
  const inner = raw.length > 1 && raw.endsWith(raw[0]!) ? raw.slice(1, -1) : raw.slice(1);
  return raw.startsWith("'") ? inner : inner.replace(/\\(["\\$`])/g, "$1");
}
