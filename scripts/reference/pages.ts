import { readPackages } from "../structure/workspace.ts";
import { apiPage } from "./api.ts";
import { errorsPage, noticesPage } from "./codes.ts";
import { commandsPage } from "./commands.ts";
import { eventsPage } from "./events.ts";
import { piPage } from "./pi.ts";
import { rpcPage } from "./rpc.ts";
import { settingsPage, settingsSchema } from "./settings.ts";
import { terminalPage } from "./terminal.ts";

/** Every generated file by its path. */
export async function referencePages(root: string): Promise<Map<string, string>> {
  const libraries = readPackages(root).filter(
    ({ private: isPrivate, directory }) => !isPrivate && directory !== "cli",
  );
  return new Map([
    ["docs/reference/commands.md", commandsPage()],
    ["docs/reference/slash-commands.md", terminalPage()],
    ["docs/reference/settings.md", settingsPage()],
    ["packages/agent/settings.schema.json", settingsSchema()],
    ["docs/reference/events.md", eventsPage(root)],
    ["docs/reference/errors.md", errorsPage(root)],
    ["docs/reference/notices.md", noticesPage(root)],
    ["docs/reference/rpc.md", rpcPage(root)],
    ["docs/reference/pi.md", await piPage()],
    ...libraries.map((pkg): [string, string] => [`packages/${pkg.directory}/API.md`, apiPage(pkg)]),
  ]);
}
