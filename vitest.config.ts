import { defineConfig } from "vitest/config";

const conditions = ["@bonsai-agent/source", "node", "import", "module", "default"];

export default defineConfig({
  ssr: { resolve: { conditions, externalConditions: ["@bonsai-agent/source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "extensions/*/test/**/*.test.ts", "scripts/**/*.test.ts"],
    globalSetup: ["scripts/test-folder.ts"],
    // Crash and big-file tests start processes of their own; on two cores they need room.
    testTimeout: 30_000,
  },
});
