import { checkCodeTable, codeRows } from "./readme-table.ts";
import { type Findings, readPackages } from "./workspace.ts";

/**
 * A notice where it is made: handed to a function that shows it (`onNotice({ code: …`), with a level before its code,
 * or under a type that says so (`const waiting: Notice = { code: …`). Those of models and handlers have a `type` for a code.
 */
const NOTICE =
  /(?:\b(?:onNotice|notify|notice)(?:\?\.)?\(\{|\b\w*Notice = \{|\blevel: "(?:info|warning)",)\s*(?:code|type): "([a-z0-9_]+)"/g;

/** Every notice that the source makes has a row under "Notices" in its package's README, and every row its notice. */
export function checkNoticeTable(root: string): Findings {
  const errors = readPackages(root)
    .filter((pkg) => !pkg.private)
    .flatMap((pkg) => {
      const rows = codeRows(pkg, "Notices", 2);
      return checkCodeTable({ root, pkg, rows, used: NOTICE, about: "notices", does: "makes" });
    });
  return { errors, warnings: [] };
}
