/** A command as the digest speaks of it. */
export interface Command {
  /** Without directory changes, redirections, filters and time limits: what makes two runs the same command. */
  key: string;
  /** The folder it ran in, where the command says so. */
  folder?: string;
  /** Output went through grep: then no output is good news, and an exit code of 1 too. */
  filtered: boolean;
  /** The exit code seen is not that of the command itself. */
  piped: boolean;
  family: CommandFamily;
}

export type CommandFamily = "test" | "build" | "check" | "run" | "change" | "look";

const LOOKS =
  /^(?:ls|cat|head|tail|grep|egrep|rg|ag|find|fd|wc|pwd|which|type|echo|printf|tree|stat|file|du|df|env|date|whoami|sleep|ps|true|awk|sort|uniq|jq|less|more|man|diff|cmp|cd|export|set|source|test|basename|dirname|realpath|column|cut|tr|history|code|open|xdg-open|sed|perl -|git (?:status|diff|log|show|branch|blame|remote|rev-parse|ls-files|grep|reflog|describe|config --get|stash list))\b/;
const TESTS =
  /\b(?:tests?|vitest|jest|pytest|unittest|mocha|ava|tape|rspec|phpunit|ctest|playwright|cypress|go test|cargo test|mvn verify|tox|nox|karma|e2e|spec)\b/;
const CHECKS =
  /\b(?:check|lint|tsc|tsgo|eslint|biome|prettier|mypy|pyright|ruff|flake8|clippy|typecheck|fmt|vet|rubocop|stylelint|audit)\b/;
const BUILDS =
  /\b(?:build|compile|make|webpack|vite build|tsup|tsdown|rollup|esbuild|bundle|gradle|mvn|cargo build|go build|cmake|ninja|docker build)\b/;
const CHANGES =
  /^(?:git (?:commit|push|tag|merge|rebase|checkout|reset|revert|cherry-pick|stash|pull)|rm|mv|cp|mkdir|touch|chmod|ln|tee)\b/;

/** Reads a shell command; undefined where it is empty. Of a chain, the last part that does more than look counts. */
export function commandOf(written: string): Command | undefined {
  const parts = split(written);
  const folder = parts.map((part) => /^cd\s+(\S+)$/.exec(part)?.[1]).findLast((path) => path !== undefined);
  const doing = parts
    .map(stripWrapping)
    .filter((part) => part !== "" && !/^(?:cd|export|set|source|echo|sleep|true)\b/.test(part));
  const main = doing.filter((part) => familyOf(part) !== "look");
  const chosen = main.length > 0 ? main : doing.slice(-1);
  if (chosen.length === 0) return undefined;
  const key = chosen.map(clip).join(" && ");
  return {
    key: key.length > 160 ? `${key.slice(0, 157)}…` : key,
    ...(folder !== undefined && { folder }),
    filtered: /\|\s*(?:e?grep|rg|wc)\b/.test(written),
    piped: /[^|]\|[^|]|\|\| *(?:true|echo)|; *(?:true|echo)/.test(written),
    family: familyOf(chosen.at(-1)!),
  };
}

/** Splits at && ; and newlines outside quotes; a here-document and what follows stay one part. */
function split(written: string): string[] {
  const text = written.slice(0, 2_000).split(/<<-?\s*['"]?\w+/)[0]!;
  const parts: string[] = [];
  let quote = "";
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (quote !== "") {
      if (char === quote && text[at - 1] !== "\\") quote = "";
    } else if (char === '"' || char === "'") quote = char;
    else if (
      char === ";" ||
      char === "\n" ||
      (char === "&" && text[at + 1] === "&") ||
      (char === "|" && text[at + 1] === "|")
    ) {
      parts.push(text.slice(start, at));
      start = char === "&" || char === "|" ? at + 2 : at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function stripWrapping(part: string): string {
  return cutPipe(part)
    .replace(/\s*(?:\d?>&\d|&>>?\s*\S+|\d?>>?\s*\S+|<\s*\S+)/g, "")
    .replace(/^(?:(?:sudo|time|nohup|env|command|exec)\s+|timeout\s+\S+\s+|[A-Z_][A-Z0-9_]*=\S*\s+)+/, "")
    .replace(/[&\s]+$/, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** What stands before the first pipe that is outside quotes. */
function cutPipe(part: string): string {
  let quote = "";
  for (let at = 0; at < part.length; at++) {
    const char = part[at]!;
    if (quote !== "") quote = char === quote ? "" : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === "|") return part.slice(0, at);
  }
  return part;
}

function clip(part: string): string {
  return part.length > 90 ? `${part.slice(0, 87)}…` : part;
}

function familyOf(part: string): CommandFamily {
  if (LOOKS.test(part)) return "look";
  if (CHANGES.test(part)) return "change";
  if (TESTS.test(part)) return "test";
  if (CHECKS.test(part)) return "check";
  return BUILDS.test(part) ? "build" : "run";
}
