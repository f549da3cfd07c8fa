import { BonsaiError } from "@bonsai-agent/messages";

/** How npm ended. */
export interface NpmEnd {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** What npm tells of a failure with `--json`. */
interface NpmError {
  code?: string | undefined;
  summary?: string | undefined;
}

type Failure = readonly [code: string, what: string, hint: string];

const notFound: Failure = [
  "package_unknown",
  "npm does not know it",
  "Check the name and the version. `npm view NAME versions` lists what there is; a private package needs its registry in ~/.npmrc.",
];
const unreachable: Failure = [
  "registry_unreachable",
  "npm cannot reach its registry",
  "Check the network, and the registry and proxy in ~/.npmrc; then install again.",
];
const refused: Failure = [
  "registry_refused",
  "the registry refuses it",
  "Log in with `npm login`, or check the token in ~/.npmrc.",
];
const full: Failure = ["disk_full", "the disk is full", "Make room and install again."];

const failures: ReadonlyMap<string, Failure> = new Map([
  ["E404", notFound],
  ["ETARGET", notFound],
  ["ENOVERSIONS", notFound],
  ["E401", refused],
  ["E403", refused],
  ["ENEEDAUTH", refused],
  ["EOTP", refused],
  ["ENOSPC", full],
  ["EDQUOT", full],
  ...["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT"].map(
    (code) => [code, unreachable] as const,
  ),
  ...["ERR_SOCKET_TIMEOUT", "ENOTCACHED"].map((code) => [code, unreachable] as const),
]);

const fallback: Failure = [
  "package_install_failed",
  "npm failed",
  "npm's own words stand above; `npm install` of the same package in an empty folder says more.",
];

/** Says what hindered npm, in its own words too. */
export function npmFailure(source: string, end: NpmEnd): BonsaiError {
  const { code, summary } = npmError(end);
  const [own, what, hint] = failures.get(code ?? "") ?? fallback;
  const words = summary ?? lastLines(end);
  return new BonsaiError({
    code: own,
    message: `${source} was not installed: ${what}${words === "" ? "" : ` (${words})`}.`,
    hint,
  });
}

/** Warnings and the like can stand around the JSON. */
function npmError({ stdout, stderr }: NpmEnd): NpmError {
  const json = /^\{$.*^\}$/ms.exec(stdout)?.[0];
  const told =
    json === undefined ? undefined : (parsed(json) as { error?: Record<string, unknown> } | null)?.error;
  const code = textOf(told?.code) ?? /^npm (?:error|ERR!) code (\S+)/m.exec(stderr)?.[1];
  return { code, summary: textOf(told?.summary)?.split("\n")[0]?.replace(/\.$/, "") };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

const shownLines = 3;

function lastLines({ exitCode, stderr }: NpmEnd): string {
  const lines = stderr
    .split("\n")
    .map((line) => line.replace(/^npm (error|ERR!) ?/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("npm warn") && !line.includes("complete log"));
  return lines.slice(-shownLines).join(" ") || `exit code ${exitCode ?? "none"}`;
}
