import { allPackageResources } from "@bonsai-agent/extension/host";
import { bonsaiHome } from "@bonsai-agent/session";
import { firstPartyExtensions } from "../call/first-party.ts";
import { type InstalledPackage, installedPackages } from "../call/installed-packages.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { shownPath } from "../call/paths.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { type Installation, installPackage } from "./install.ts";

/** A package in the JSON of `bonsai extension add`, `list`, `remove` and `update`. */
export type PackageReport = ReturnType<typeof packageReport>;

/** The JSON of `bonsai extension add`. */
export type InstallReport = ReturnType<typeof installReport>;

export function packageReport({ name, version, source, folder }: InstalledPackage) {
  return { name, version: version ?? null, source, folder };
}

export async function add({ args, io, output }: Invocation): Promise<ExitCode> {
  const [source] = args;
  const home = bonsaiHome(io.env);
  if (source === undefined) {
    const reports = firstPartyReports(home);
    output.result(reports, () => firstPartyView(reports, output.width));
    return ExitCode.done;
  }
  return io.interruptible(async (signal) => {
    try {
      const installed = await withProgress(io, `Adding ${source}`, () =>
        installPackage({ home, cwd: io.cwd, env: io.env, now: io.now, source, signal }),
      );
      const report = installReport(installed);
      output.result(report, () => installView(report, { width: output.width, cwd: io.cwd }));
      return ExitCode.done;
    } catch (error) {
      if (!signal.aborted) throw error;
      output.notify({ code: "cancelled", message: `Cancelled. ${source} was not added.` });
      return ExitCode.cancelled;
    }
  });
}

function installReport({ package: installed, entries, replaced }: Installation) {
  return {
    ...packageReport(installed),
    extensions: entries,
    resources: allPackageResources(installed.folder).paths,
    replaced: replaced === undefined ? null : { version: replaced.version ?? null, source: replaced.source },
  };
}

function installView(report: InstallReport, { width, cwd }: { width: number; cwd: string }): Line[] {
  const { name, version, extensions, resources } = report;
  const use =
    extensions.length === 0
      ? "Its skills, prompt templates and themes are available in every session from now on."
      : "Its extensions run in every session from now on, with your rights.";
  return [
    [
      span("Added", ["bold", "green"]),
      ` ${shownPath(name, cwd)}${version === null ? "" : ` ${version}`}`,
      span(replacedText(report), "gray"),
    ],
    ...extensions.map((path): Line => [span("  extension  ", "gray"), shownPath(path, cwd)]),
    ...resources.map((path): Line => [span("  resource   ", "gray"), shownPath(path, cwd)]),
    ...paragraph(`${originText(report)} ${use}`, width, "gray"),
  ];
}

function originText({ source, folder }: InstallReport): string {
  if (source.startsWith("shipped:")) return "It comes with bonsai. Updating bonsai also updates it.";
  if (folder === source) return "Bonsai loads it from there, so your changes take effect.";
  return "Its install scripts were not run.";
}

function replacedText({ version, source, replaced }: InstallReport): string {
  if (replaced === null) return "";
  if (replaced.version !== version) return `  before: ${replaced.version ?? replaced.source}`;
  return replaced.source === source ? "  (same version as before)" : `  before: ${replaced.source}`;
}

/** An extension that comes with Bonsai, in the JSON of `bonsai extension add` without a source. */
export type FirstPartyReport = ReturnType<typeof firstPartyReports>[number];

function firstPartyReports(home: string) {
  const installed = new Map(installedPackages(home).packages.map((each) => [each.name, each]));
  return firstPartyExtensions.map((each) => {
    const found = installed.get(each.package);
    return { ...each, installed: found !== undefined, version: found?.version ?? null };
  });
}

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
