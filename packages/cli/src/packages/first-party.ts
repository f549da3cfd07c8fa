import { firstPartyExtensions, installedPackages } from "@bonsai-agent/extension/install";
import type { Invocation } from "../call/invocation.ts";
import { terminalUi } from "../call/terminal-ui.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";

/** An extension that comes with Bonsai, in what `bonsai extension add --json` prints without a source. */
export interface FirstPartyReport {
  /** The word for it: `bonsai extension add NAME`. */
  name: string;
  /** Of npm. */
  package: string;
  description: string;
  installed: boolean;
  /** Null where it is not installed, or its package.json names none. */
  version: string | null;
}

/** What comes with Bonsai, and whether it is installed. */
export function firstPartyReports(home: string): FirstPartyReport[] {
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
export function firstPartyView(reports: readonly FirstPartyReport[], width: number): Line[] {
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
export async function chosenFirstParty(
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
