export { type Entries, packageExtensions } from "../load/extension-entries.ts";
export {
  allPackageResources,
  type PackageResource,
  type PackageResources,
  packageResources,
} from "../load/package-resources.ts";
export { type FirstPartyExtension, firstPartyExtensions } from "./first-party.ts";
export { type InstalledPackage, type InstalledPackages, installedPackages } from "./package-records.ts";
export {
  type Installation,
  type InstallPackageOptions,
  installPackage,
  type RemovePackageOptions,
  removePackage,
} from "./packages.ts";
export { type PackageUpdate, type UpdatePackagesOptions, updatePackages } from "./update-packages.ts";
