import type { FindProblem, FoundExtension } from "@bonsai-agent/extension";
import type { PackageReport } from "./package-report.ts";

export interface ListedPackage extends PackageReport {
  /** Absolute paths of its modules that can be read. */
  extensions: readonly string[];
  problems: readonly FindProblem[];
}

/** What `bonsai list --json` prints. */
export interface ListReport {
  /** In load order, as everything here. */
  packages: readonly ListedPackage[];
  /** Extensions that no package brought, and that can be read. */
  extensions: readonly Pick<FoundExtension, "path" | "origin">[];
  /** What was looked for besides packages and cannot be loaded. */
  problems: readonly FindProblem[];
}
