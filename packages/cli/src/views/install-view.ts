import type { InstallReport } from "../reports/install-report.ts";
import { shownPath } from "../shown-path.ts";
import { type Line, span } from "./line.ts";
import { wrap } from "./text-width.ts";

/** What was installed, what it brings, and what that means. */
export function installView(report: InstallReport, { width, cwd }: { width: number; cwd: string }): Line[] {
  const { name, version, source, folder, extensions } = report;
  const isCopy = folder !== source;
  const about = isCopy
    ? "Its own scripts were not run. From now on its extensions run in every session, with your rights."
    : "It is used where it lies: changes to it count. Its extensions run in every session, with your rights.";
  return [
    [
      span("Installed", ["bold", "green"]),
      ` ${shownPath(name, cwd)}${version === null ? "" : ` ${version}`}`,
      span(before(report), "gray"),
    ],
    ...extensions.map((path): Line => [span("  extension  ", "gray"), shownPath(path, cwd)]),
    ...wrap(about, width).map((text): Line => [span(text, "gray")]),
  ];
}

function before({ version, source, replaced }: InstallReport): string {
  if (replaced === null) return "";
  if (replaced.version !== version) return `  before: ${replaced.version ?? replaced.source}`;
  return replaced.source === source ? "  as before" : `  before: ${replaced.source}`;
}
