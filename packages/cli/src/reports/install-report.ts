import type { PackageReport } from "./package-report.ts";

/** What `bonsai install --json` prints. */
export interface InstallReport extends PackageReport {
  /** Absolute paths of the modules that are loaded from now on. */
  extensions: readonly string[];
  /** What went by the same name before. */
  replaced: Pick<PackageReport, "version" | "source"> | null;
}
