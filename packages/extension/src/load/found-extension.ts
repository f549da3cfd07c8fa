/** Where an extension was found. */
export type ExtensionOrigin = "flag" | "settings" | "user" | "project" | "package";

/** A module to load. */
export interface FoundExtension {
  /** Absolute path of the entry module. */
  path: string;
  origin: ExtensionOrigin;
  /** The npm package that brought it. */
  packageName?: string;
}

/** What was looked for and cannot be loaded. */
export interface FindProblem {
  path: string;
  message: string;
  hint: string;
}

export interface FoundExtensions {
  /** In load order: each module once. */
  extensions: readonly FoundExtension[];
  problems: readonly FindProblem[];
}
