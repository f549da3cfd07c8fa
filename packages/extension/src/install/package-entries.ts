import { relative } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import { packageExtensions } from "../load/extension-entries.ts";
import { isModuleName } from "../load/module-names.ts";

/**
 * Absolute paths of the extensions in a package's folder, or of the lone module that it is: at least one.
 * @throws BonsaiError `package_without_extensions`
 */
export function packageEntries(folder: string, source: string): readonly string[] {
  const { entries, problems } = packageExtensions(folder);
  const modules = entries.filter(isModuleName);
  if (modules.length > 0) return modules;
  const [problem] = problems;
  const why =
    problem === undefined ? "" : ` ${relative(folder, problem.path) || "In it"}: ${problem.message}`;
  throw new BonsaiError({
    code: "package_without_extensions",
    message: `${source} brings no extension.${why}`,
    hint: 'The package.json of one that does names them: {"bonsai": {"extensions": ["./index.ts"]}}. A lone module is installed by its own path.',
  });
}
