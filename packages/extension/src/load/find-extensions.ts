import type { FoundExtensions } from "./found-extension.ts";

export interface FindExtensionsOptions {
  /** Bonsai's home folder: `<home>/extensions`, and the packages that were installed. */
  home: string;
  /** Where relative paths of flags start, and the project's `.bonsai/extensions` is looked for. */
  cwd: string;
  /** False leaves the project's extensions aside. */
  isProjectTrusted: boolean;
  /** `settings.extensions`, absolute. */
  settingsPaths?: readonly string[];
  /** `-e`, in the order of the command line. */
  flagPaths?: readonly string[];
  /** Only what flags name. Default false. */
  onlyFlags?: boolean;
}

/** The extensions of a call, in load order: packages, the user's, the project's, the settings', the flags'. */
export function findExtensions(options: FindExtensionsOptions): FoundExtensions {
  const { flagPaths = [] } = options;
  return { extensions: flagPaths.map((path) => ({ path, origin: "flag" as const })), problems: [] };
}
