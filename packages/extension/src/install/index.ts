export { type Entries, packageExtensions } from "../load/extension-entries.ts";
export { type Installation, type InstallPackageOptions, installPackage } from "./install-package.ts";
export { type InstalledPackage, type InstalledPackages, installedPackages } from "./package-records.ts";
export { type RemovePackageOptions, removePackage } from "./remove-package.ts";
