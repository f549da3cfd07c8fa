import { textHead } from "@bonsai-agent/messages";
/** One program with its arguments, without redirections, variables set in front and shell keywords. */
export interface SimpleCommand {
  /** The value of each argument, quotes resolved. */
  words: readonly string[];
  /** Each argument as it is written. */
  raws: readonly string[];
  /** It reads what the command before it prints. */
  isPiped: boolean;
  /** Where it runs, if a `cd` before it says so. */
  folder?: string | undefined;
}

/** Commands with one exit code: what stands between `;`, `&` and line ends. */
export interface CommandGroup<Command extends SimpleCommand = SimpleCommand> {
  /** Without those that run only after a failure (`a || b`). */
  commands: readonly Command[];
  hasFallback: boolean;
}

/** What is longer is a script, whose beginning tells. */
const maxChars = 20_000;

/** Reads a shell command, or a whole script. Never throws; a quote that nothing closes reaches to the end. */
export function commandGroups(written: string): CommandGroup[] {
  const reader = new ScriptReader();
  for (const { 0: token, groups = {} } of withoutHereDocuments(written).matchAll(TOKEN))
    reader.read(token, groups);
  return reader.end();
}

/** A substitution is part of a word. Nothing in here can fail behind its first character, so that each is read once. */
const TOKEN =
  /(?<comment>(?<![^\s;&|()])#[^\n]*)|(?<blank>(?:[ \t\r]|\\\r?\n)+)|(?<redirect>\d?(?:&>>?|<<<|<<-?|>>|>\||[<>])&?[ \t]*(?:'[^']*'?|"[^"]*"?|[^\s'"`;&|<>()]*))|(?<operator>\n|;+|&&|\|\||\|&|[|&()])|(?<quoted>'[^']*'?|"[^"\\]*(?:\\[\s\S][^"\\]*)*"?)|\$\((?:[^()]+|\((?:[^()]+|\([^()]*\)?)*\)?)*\)?|`[^`]*`?|\\[\s\S]?|[^\s'"\\;&|<>()`$\d]+|[\s\S]/g;

/** They are taken out first, also inside quotes: a message that is written as one may hold any quotes. */
function withoutHereDocuments(written: string): string {
  const lines = textHead(written, 10 * maxChars).split("\n");
  const lastAt = new Map(lines.map((line, at) => [line.trim(), at]));
  const kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    kept.push(lines[at]!);
    for (const [, tag = ""] of lines[at]!.matchAll(/(?<!<)<<-?\s{0,3}["']?(\w{1,60})/g))
      if (lastAt.get(tag)! > at) while (lines[++at]!.trim() !== tag);
  }
  return textHead(kept.join("\n"), maxChars);
}

const KEYWORD = /^(?:then|do|else|elif|if|while|until|!|\{|time|[A-Za-z_]\w*\+?=.*)$/s;
const NO_COMMAND = /^(?:for|case|select|done|fi|esac|\}|function|\[\[?)$/;

class ScriptReader {
  readonly #groups: CommandGroup[] = [];
  #commands: SimpleCommand[] = [];
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
    this.#commands.push({ words, raws, isPiped: this.#isPiped, folder: this.#folder });
    if (words[0] === "cd" && words[1] !== undefined) this.#folder = words[1];
  }
}

function unquoted(raw: string): string {
  const inner = raw.length > 1 && raw.endsWith(raw[0]!) ? raw.slice(1, -1) : raw.slice(1);
  return raw.startsWith("'") ? inner : inner.replace(/\\(["\\$`])/g, "$1");
}
