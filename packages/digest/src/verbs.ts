// Names of programs and of their subcommands: one place for all of them.

export const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

/** Programs that only look, or only steer the shell. */
export const LOOKING = wordSet(
  `ls cat head tail grep egrep fgrep rg ag ack find fd wc pwd which type whereis echo printf tree stat file du df env printenv
  date whoami id hostname uname sleep ps pgrep top true false awk gawk sort uniq jq yq less more man diff cmp cd pushd popd
  export set unset source . test basename dirname realpath readlink column cut tr nl od xxd hexdump strings history alias code
  open xdg-open lsof netstat ss ping dig nslookup nc wait jobs kill pkill killall seq yes clear md5sum sha256sum shasum comm
  paste bat delta eza curl wget http https xh exit return shift read local trap command journalctl`,
);
/** Programs that move files about: they are not run again in the same words. */
export const PLUMBING = wordSet(
  "mkdir rm rmdir touch cp mv chmod chown ln sed tee tar zip unzip gzip gunzip mktemp vim vi nano emacs dd xargs patch",
);
/** Programs and verbs that test, build or check. */
export const JUDGING = wordSet(
  `test tests spec e2e check lint typecheck build compile make vet fmt format verify clippy audit bench coverage ci vitest jest
  pytest unittest mocha ava tape rspec minitest phpunit pest ctest playwright cypress karma tox nox nextest tsc tsgo eslint
  biome prettier oxlint mypy pyright ruff flake8 pylint black isort rubocop stylelint shellcheck golangci webpack rollup
  esbuild tsup tsdown vite gradle gradlew mvn mvnw cmake ninja bazel javac gcc clang rustc swiftc ghc package phpstan
  psalm credo dialyzer checkstyle ktlint detekt`,
);
export const LOOKING_VERBS = wordSet(
  `get list ls describe show view status log logs diff info help search inspect cat top whoami explain history print query
  find outdated tail why`,
);
/** Verbs after which nothing lasts outside the project. */
export const LOCAL_VERBS = wordSet(
  `version fetch pull login logout plan preview validate template dry notes local new generate gen g init add install i start
  serve dev watch completion doctor changelog download assemble freeze`,
);
/** Verbs of what cannot be taken back, whatever the program. */
export const ACTING_VERBS = wordSet(
  `push publish unpublish release deploy redeploy undeploy delete del drop truncate migrate upload apply destroy purge wipe
  flush rollback terminate promote teardown unlink shred mkfs dropdb send sendmail submit`,
);
/** The same, of programs that steer what runs elsewhere. */
export const REMOTE_VERBS = wordSet(
  `create update put set up rm remove terminate scale restart reboot stop replace patch drain edit import restore reset merge
  close reopen comment rename transfer revoke invoke upgrade uninstall undo taint rb mb failover rotate unset change`,
);
export const REMOTE_PROGRAMS = wordSet(
  `aws gcloud gsutil az kubectl oc heroku fly flyctl vercel netlify wrangler firebase railway render doctl gh glab
  pulumi serverless sls sam eb cdk supabase terraform tofu terragrunt argocd nomad consul vault linode-cli hcloud scw
  doppler eas fastlane sentry-cli stripe kops eksctl bq amplify copilot`,
);
/** Verbs that are nouns too: `gh release list`, `prisma migrate status`. */
export const NOUNS = wordSet("release releases deploy migrate tag");

/**
 * Programs whose acting verbs are only these, or, with `*` at the end, these too. The words of a phrase stand in order among
 * the first words of the command, an option anywhere; `+` is any further word.
 */
export const PHRASES: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries({
    git: "push, reset --hard, clean -f, clean --force, branch -D, branch -d, branch --delete, stash drop, stash clear, filter-branch, filter-repo, send-email, reflog expire, reflog delete, update-ref -d, svn dcommit, lfs push, subtree push, flow release finish",
    hg: "push, strip",
    svn: "commit, ci, delete, copy",
    docker:
      "push, image push, volume rm, volume prune, system prune, image prune, compose down -v, compose down --volumes, compose push, stack deploy, stack rm, service update, service rm, buildx build --push, build --push",
    podman: "push, volume rm, volume prune, system prune",
    "docker-compose": "push, down -v, down --volumes",
    dotnet: "nuget push, nuget delete, ef database update, ef database drop",
    npm: "version +, dist-tag add, dist-tag rm, deprecate, owner add, owner rm, *",
    pnpm: "version +, dist-tag add, deprecate, publish, *",
    yarn: "npm publish, npm tag add, version +, *",
    cargo: "yank, owner, *",
    alembic: "upgrade, downgrade, stamp",
    flask: "db upgrade, db downgrade",
    flyway: "migrate, clean, repair, undo, baseline",
    liquibase: "update, dropAll, drop-all, *",
    dbmate: "up, down, drop, migrate, rollback",
    goose: "up, up-to, down, down-to, reset, redo",
    migrate: "up, down, drop, force, goto",
    prisma: "migrate deploy, migrate dev, migrate reset, db push, db execute",
    "drizzle-kit": "push, migrate, drop",
    helm: "install, upgrade, uninstall, delete, rollback, push",
    gh: "workflow run, *",
    typeorm: "schema:drop, schema:sync, *",
    "redis-cli": "flushall, flushdb, del, unlink",
    crontab: "-r",
  }).map(([program, phrases]) => [program, phrases.split(", ")]),
);

/** Programs that act when they are given no verb. */
export const ACTING_BARE = wordSet("vercel surge np ansible-playbook semantic-release release-it");
/** Programs that take several verbs at once. */
export const OF_SEVERAL_VERBS = wordSet(
  "make gmake mvn mvnw gradle gradlew ant just task rake sbt lein mix nx turbo",
);
/** Programs that run the script that they are given. */
export const INTERPRETERS = wordSet(
  "node python bash sh zsh dash ksh ruby perl php tsx ts-node deno bun go rscript",
);
/** Programs in front of the program that matters. */
export const WRAPPERS = wordSet(
  "sudo doas env time nohup nice exec stdbuf xvfb-run caffeinate setsid timeout gtimeout ionice xargs",
);
