// `prepack` of every package: npm would pack `workspace:*` as it is, and nobody could install the result.
const agent = process.env.npm_config_user_agent ?? "";
if (!agent.startsWith("pnpm/")) {
  console.error(
    "npm keeps workspace:* in the packed package.json, so the package could not be installed. " +
      "Use pnpm: `pnpm pack`. To pack, install and check all packages, run `pnpm release --dry-run` in the clone.",
  );
  process.exit(1);
}
