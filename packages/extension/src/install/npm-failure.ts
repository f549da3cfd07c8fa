import { BonsaiError } from "@bonsai-agent/messages";

/** How npm ended. */
export interface NpmEnd {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

const unwritten = /TAR_ENTRY_ERROR ((\w+)[^\n]*)/;

/** True where npm ended well, and yet did not write every file of a package: a full disk is a warning to it. */
export function isTorn({ stderr }: NpmEnd): boolean {
  return unwritten.test(stderr);
}

/** What npm tells of a failure with `--json`. */
interface NpmError {
  code?: string | undefined;
  summary?: string | undefined;
}

/** @param told makes a sentence of what happened, with npm's own words */
type Failure = (told: (what: string) => string) => BonsaiError;

const notFound: Failure = (told) =>
  new BonsaiError({
    code: "package_unknown",
    message: told("npm does not know it"),
    hint: "Check the name and the version. `npm view NAME versions` lists what there is; a private package needs its registry in ~/.npmrc.",
  });

const unreachable: Failure = (told) =>
  new BonsaiError({
    code: "registry_unreachable",
    message: told("npm cannot reach its registry"),
    hint: "Check the network, and the registry and proxy in ~/.npmrc; then install again.",
  });

const refused: Failure = (told) =>
  new BonsaiError({
    code: "registry_refused",
    message: told("the registry refuses it"),
    hint: "Log in with `npm login`, or check the token in ~/.npmrc.",
  });

const full: Failure = (told) =>
  new BonsaiError({
    code: "disk_full",
    message: told("the disk is full"),
    hint: "Make room and install again.",
  });

const other: Failure = (told) =>
  new BonsaiError({
    code: "package_install_failed",
    message: told("npm failed"),
    hint: "npm's own words stand above; `npm install` of the same package in an empty folder says more.",
  });

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

/** Says what hindered npm, in its own words too. */
export function npmFailure(source: string, end: NpmEnd): BonsaiError {
  const { code, summary } = npmError(end);
  const words = summary ?? lastLines(end);
  const failure = failures.get(code ?? "") ?? other;
  return failure((what) => `${source} was not installed: ${what} (${words}).`);
}

/** Warnings and the like can stand around the JSON. */
function npmError({ stdout, stderr }: NpmEnd): NpmError {
  const lines = stdout.split(/\r?\n/);
  const [from, until] = [lines.indexOf("{"), lines.lastIndexOf("}")];
  const json = from < 0 || until < from ? undefined : lines.slice(from, until + 1).join("\n");
  const told =
    json === undefined ? undefined : (parsed(json) as { error?: Record<string, unknown> } | null)?.error;
  const [, torn, tornCode] = unwritten.exec(stderr) ?? [];
  const code = textOf(told?.code) ?? /^npm (?:error|ERR!) code (\S+)/m.exec(stderr)?.[1] ?? tornCode;
  return { code, summary: textOf(told?.summary)?.split("\n")[0]?.replace(/\.$/, "") ?? torn };
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
