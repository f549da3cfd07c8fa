import { allPackageResources } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome } from "@bonsai-agent/session";
import { firstPartyExtensions } from "../call/first-party.ts";
import { installedPackages } from "../call/installed-packages.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { isInteractiveTerminal } from "../call/io.ts";
import { withProgress } from "../call/output.ts";
import { shownPath } from "../call/paths.ts";
import { terminalUi } from "../call/terminal-ui.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { didYouMean } from "../views/nearest-word.ts";
import { type Installation, installPackage } from "./install-package.ts";
import { type PackageReport, packageReport, warnOfImports } from "./package-report.ts";

/** The JSON of `bonsai extension add`. */
export interface InstallReport extends PackageReport {
  /** Absolute paths of the modules that are loaded from now on. */
  extensions: readonly string[];
  /** Absolute paths of its skills, prompt templates and themes, or of the folders with them. */
  resources: readonly string[];
  /** The package of the same name before, if there was one. */
  replaced: Pick<PackageReport, "version" | "source"> | null;
}

/** Installs a package of npm, or what lies at a path; without either, lists what comes with Bonsai. */
export async function add(call: Invocation): Promise<ExitCode> {
  const { args, io, output } = call;
  const [given] = args;
  if (given !== undefined) return installFrom(given, call);
  const reports = firstPartyReports(bonsaiHome(io.env));
  const isChosen = !output.wantsJson && isInteractiveTerminal(io);
  const chosen = isChosen
    ? await io.interruptible((signal) => chosenFirstParty(call, reports, signal))
    : undefined;
  if (chosen !== undefined) return installFrom(chosen, call);
  if (!isChosen) output.result(reports, () => firstPartyView(reports, output.width));
  return ExitCode.done;
}

function installFrom(source: string, { io, output }: Invocation): Promise<ExitCode> {
  const place = { home: bonsaiHome(io.env), cwd: io.cwd, env: io.env, now: io.now };
  return io.interruptible(async (signal) => {
    try {
      const installed = await withProgress(io, `Adding ${source}`, () =>
        installPackage({ ...place, source, signal }),
      );
      const report = installReport(installed);
      output.result(report, () => installView(report, { width: output.width, cwd: io.cwd }));
      await warnOfImports(output, installed.package, installed.entries);
      return ExitCode.done;
    } catch (error) {
      if (!signal.aborted) throw withMeantName(source, error);
      output.notify({ code: "cancelled", message: `Cancelled. ${source} was not added.` });
      return ExitCode.cancelled;
    }
  });
}

/** Names of packages that come with Bonsai are written without a path, so a typo looks like a missing path. */
function withMeantName(source: string, error: unknown): unknown {
  const names = firstPartyExtensions.map(({ name }) => name);
  const meant = didYouMean(source, names, "`bonsai extension add ").replace(/\?$/, "`?");
  if (!BonsaiError.is(error) || error.code !== "package_not_found" || meant === "") return error;
  return new BonsaiError({
    code: error.code,
    message: error.message,
    hint: `${meant.trimStart()} ${error.hint}`,
    cause: error,
  });
}

function installReport({ package: installed, entries, replaced }: Installation): InstallReport {
  return {
    ...packageReport(installed),
    extensions: entries,
    resources: allPackageResources(installed.folder).paths,
    replaced: replaced === undefined ? null : { version: replaced.version ?? null, source: replaced.source },
  };
}

/** Shows the added package, its parts, and what that means for the user. */
function installView(report: InstallReport, { width, cwd }: { width: number; cwd: string }): Line[] {
  const { name, version, source, folder, extensions, resources } = report;
  const use =
    extensions.length === 0
      ? "Its skills, prompt templates and themes are available in every session from now on."
      : "Its extensions run in every session from now on, with your rights.";
  return [
    [
      span("Added", ["bold", "green"]),
      ` ${shownPath(name, cwd)}${version === null ? "" : ` ${version}`}`,
      span(before(report), "gray"),
    ],
    ...extensions.map((path): Line => [span("  extension  ", "gray"), shownPath(path, cwd)]),
    ...resources.map((path): Line => [span("  resource   ", "gray"), shownPath(path, cwd)]),
    ...paragraph(`${originOf({ source, folder })} ${use}`, width, "gray"),
  ];
}

function originOf({ source, folder }: Pick<InstallReport, "source" | "folder">): string {
  if (source.startsWith("shipped:")) return "It comes with bonsai. Updating bonsai also updates it.";
  if (folder === source) return "Bonsai loads it from there, so your changes take effect.";
  return "Its install scripts were not run.";
}

function before({ version, source, replaced }: InstallReport): string {
  if (replaced === null) return "";
  if (replaced.version !== version) return `  before: ${replaced.version ?? replaced.source}`;
  return replaced.source === source ? "  (same version as before)" : `  before: ${replaced.source}`;
}

/** An extension that comes with Bonsai, in what `bonsai extension add --json` prints without a source. */
export interface FirstPartyReport {
  /** The word for it: `bonsai extension add NAME`. */
  name: string;
  /** Its npm name. */
  package: string;
  description: string;
  installed: boolean;
  /** Null where it is not installed, or its package.json names none. */
  version: string | null;
}

/** Lists the extensions that come with Bonsai, and whether each is installed. */
function firstPartyReports(home: string): FirstPartyReport[] {
  const installed = new Map(installedPackages(home).packages.map((each) => [each.name, each]));
  return firstPartyExtensions.map(({ name, package: npmName, description }) => {
    const found = installed.get(npmName);
    return {
      name,
      package: npmName,
      description,
      installed: found !== undefined,
      version: found?.version ?? null,
    };
  });
}

/** One line each, and how to install one. */
function firstPartyView(reports: readonly FirstPartyReport[], width: number): Line[] {
  const rows = reports.map(({ name, description, installed, version }): Line[] => [
    [span(name, "bold")],
    [description],
    installed ? [span(`installed ${version ?? ""}`.trim(), "green")] : [],
  ]);
  return [
    ["These extensions ship with bonsai:"],
    ...table(rows, { columns: [{}, { flexible: true }, {}], width }),
    ...paragraph(
      "Add one with `bonsai extension add NAME`. npm:NAME adds a package from npm, a path adds your own.",
      width,
      "gray",
    ),
  ];
}

/** Lets somebody at a terminal choose one of them. @returns its name; undefined where nobody did */
async function chosenFirstParty(
  { io, output }: Pick<Invocation, "io" | "output">,
  reports: readonly FirstPartyReport[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const ui = terminalUi({ io, output, signal });
  if (ui === undefined) return undefined;
  const widest = Math.max(...reports.map(({ name }) => name.length));
  const options = reports.map(
    ({ name, description, installed }) =>
      `${name.padEnd(widest)}  ${description}${installed ? " (installed)" : ""}`,
  );
  try {
    const chosen = await ui.select("Which extension do you want to add?", options, { signal });
    return chosen === undefined ? undefined : reports[options.indexOf(chosen)]?.name;
  } finally {
    ui.close();
  }
}
