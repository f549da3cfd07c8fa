import { createSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { previewOf } from "../src/preview.ts";

test("a summary in one line: its headings lead what stands below them", () => {
  const session = createSession({ cwd: "/project" });
  const summary =
    "[For the model.]\n\n## Goal\n\nMake the totals right.\n\n### Done\n- issue #7\n\n## Next Steps:\n1. Rest.";
  const entry = session.append({ type: "branch_summary", summary, fromId: "root" });
  expect(previewOf(entry)).toBe("Goal: Make the totals right. Done: - issue #7 Next Steps: 1. Rest.");
});
