import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { emptyRecord } from "../../src/details.ts";
import { outcomesAfter } from "../../src/record/outcomes.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { ran, toolRun } from "./run-messages.ts";

const done = (messages: readonly SourceMessage[]) =>
  outcomesAfter(emptyRecord.outcomes, messages).irreversible.map(({ command }) => command);

const IRREVERSIBLE = `
git push | git push -u origin HEAD | git -C ../lib push --force-with-lease origin main | git push origin --delete old
git tag v2.0.1 | git tag -a v2 -m "second list" | git tag -s v3 | git reset --hard HEAD~3 | git clean -fdx
git branch -D old-work | git stash drop | git stash clear | git filter-repo --path x
npm publish --access public | npm unpublish left@1.0.0 | npm run deploy | npm run deploy:prod -- --force
npm version patch | npm deprecate x@1 "old" | npm dist-tag add x@2 latest | pnpm -r publish --no-git-checks
pnpm --filter web deploy:staging | yarn npm publish | yarn release | npx changeset publish | npx lerna publish from-git
npx semantic-release | bun publish | deno task deploy | cargo publish -p core | cargo yank --vers 1.0.2
twine upload dist/* | python3 -m twine upload dist/foo-1.0.whl | poetry publish --build | uv publish | gem push foo-1.gem
bundle exec rake release | mvn clean deploy | mvn -B release:perform | ./gradlew :app:publishReleaseBundle
gradle test publish | make release | make -j4 test deploy | make -C infra deploy | just deploy | ./scripts/publish.sh
bash scripts/deploy.sh prod | node scripts/release.js | python deploy.py --env prod | tsx scripts/migrate.ts
go run ./cmd/migrate up | goreleaser release | docker push ghcr.io/x/y:1 | docker compose down -v | docker volume rm pgdata
docker buildx build --push -t x . | kubectl apply -f k8s/ | kubectl -n prod delete pod web-1 | kubectl scale deploy web --replicas=0
kubectl rollout undo deploy/web | helm upgrade --install web ./chart | helm -n prod uninstall web
terraform apply -auto-approve | terraform -chdir=infra destroy | cdk deploy Api
aws s3 rm s3://b/k --recursive | aws s3 sync dist s3://site | aws --profile p ec2 terminate-instances --instance-ids i-1
aws cloudformation delete-stack --stack-name x | aws dynamodb delete-table --table-name t | gcloud run deploy svc --image x
gsutil cp a gs://b/ | az group delete -n rg --yes | gh release create v1 --notes "x" | gh pr merge 12 --squash
gh pr create --title "x" --body "y" | gh api -X DELETE repos/x/y/branches | glab mr merge 3 | fly deploy --remote-only
fly secrets set A=b | heroku pg:reset DATABASE --confirm app | heroku run rails db:migrate
vercel --prod | npx vercel deploy --prebuilt | netlify deploy --prod --dir=dist | wrangler deploy | firebase deploy --only hosting
rails db:migrate | bin/rails db:drop | RAILS_ENV=production bundle exec rails db:migrate | python manage.py migrate
python manage.py flush --noinput | alembic upgrade head | flyway migrate
npx prisma migrate deploy | pnpm prisma migrate reset --force | npx prisma db push | npx knex migrate:latest
php artisan migrate:fresh | mix ecto.migrate | dotnet ef database update | supabase db push | dropdb shop
psql -c "DROP TABLE users" | psql $DATABASE_URL -c 'delete from sessions where 1=1' | psql -h db -f migrations/004_drop.sql
mysql -e "TRUNCATE TABLE logs" | sqlite3 app.db "DELETE FROM a;"
mongosh --eval "db.users.drop()" | redis-cli FLUSHALL | rm -rf data/ | rm -rf /srv/www/old | rm -r -f ~/.config/app
sudo rm -rf /etc/foo | rm -rf src/legacy dist | rm src/a.ts | rmdir old | rm -rf build/2025 | git checkout -- . | git restore src/a.ts | rm ~/notes.txt | rm *.sql | find archive -name "*.gz" -delete
timeout 60 npm publish
curl -X POST https://api.x.com/v1/hooks -d '{"a":1}' | curl -sS -XDELETE "https://api.x.com/items/4" | http POST api.x.com/a b=c
curl --data @f.json https://hooks.slack.com/x | scp dist.tgz web@host:/srv | rsync -av --delete dist/ host:/srv/www
ansible-playbook site.yml | (cd infra && terraform apply)
if npm test; then git push; fi | echo y | npm publish | git ls-files -d | xargs rm -rf | FOO=1 git push 2>&1 | tail -3
`;

const HARMLESS = `
echo "git push" | grep deploy README.md | git log --grep=tag | git commit -m "publish v2; git push it" | git commit -am 'release && deploy'
git tag | git tag -l "v*" | git tag --list | git tag -n3 | git tag --contains HEAD | git push --dry-run | git push -n | git clean -nfd
git branch -a | git reset HEAD file | git reset --soft HEAD~1 | git stash | git stash pop | git checkout -b release | git merge release
git fetch --tags | git show v1 --stat | git push --help | git config push.default simple | git diff HEAD -- deploy/ | git remote -v
npm publish --dry-run | npm run publish:dry | npm view foo | npm pack | npm install | npm i -D release-it | npm test -- deploy
npm version | npm run build:release | npm run test:deploy | npm run release:notes | npx vitest run deploy.test.ts
pytest tests/test_migrate.py | cargo test publish | cargo build --release | cargo publish --dry-run | go test ./deploy/...
go build ./cmd/release | make test | make -n deploy | cat scripts/deploy.sh | vim deploy.yml | cp deploy.sh deploy.bak
mv release.txt old/ | sed -i s/push/pull/ deploy.sh | chmod +x scripts/deploy.sh | kubectl get pods | kubectl describe deploy web
kubectl logs deploy/web | kubectl rollout status deploy/web | kubectl apply -f x --dry-run=client | helm list | helm template ./chart
terraform plan -out=apply.plan | terraform init | terraform validate | aws s3 ls s3://b | aws ec2 describe-instances | aws s3 cp s3://b/k .
gcloud run services list | gh pr list | gh release list | gh release view v1 | gh release download v1 | gh run watch | gh api repos/x/y
fly status | heroku logs --tail | heroku config | vercel ls | vercel dev | netlify dev | docker build -t push . | docker ps
docker compose up -d | docker compose down | docker run --rm x npm test | rails routes | rails generate migration DropUsers
rails test | python manage.py makemigrations | python manage.py showmigrations | python manage.py migrate --plan
alembic revision -m "drop x" | alembic history | npx prisma generate | npx prisma migrate status | npx prisma migrate diff
npx knex migrate:make foo | flyway info | mvn test | mvn clean install | ./gradlew assembleRelease | ./gradlew publishToMavenLocal
dotnet publish -c Release | dotnet ef migrations add Drop | psql -c "select * from deleted_items" | sqlite3 a.db .schema
mysql -e "show tables" | rm -rf node_modules | rm -rf dist build .next | rm -rf /tmp/foo
rm -rf packages/*/dist | rm -rf node_modules package-lock.json | rm -rf "$TMPDIR/x" | find . -name "*.pyc" -delete
curl https://api.x.com/v1 | curl -s http://localhost:3000/api -X POST -d '{}' | curl -G https://x -d q=1 | wget https://x/y.tgz
rsync -av a/ b/ | scp host:/x . | twine check dist/* | goreleaser release --snapshot | ansible-playbook site.yml --check
node -e "console.log('git push')" | printf 'DROP TABLE x' | rg "DROP TABLE" migrations | man git-push | type deploy | ls release
python -c "import publish" | pip install twine | brew install flyway | ps aux | grep deploy | # git push
`;

const rows = (table: string): string[] =>
  table
    .split("\n")
    .flatMap((line) => line.split(/ \| (?!(?:npm publish|xargs rm|tail|grep deploy$))/))
    .filter((command) => command.trim() !== "");

test("lists commands that cannot be undone", () =>
  everyRow(rows(IRREVERSIBLE))((command) => {
    expect(done(ran(command, "done"))).toHaveLength(1);
  }));

test("lists no harmless commands", () =>
  everyRow(rows(HARMLESS))((command) => {
    expect(done(ran(command, "done"))).toEqual([]);
  }));

test("shown is the command without what stands around it", () => {
  expect(done(ran("cd /srv && CI=1 timeout 60 git push origin main 2>&1 | tail -3"))).toEqual([
    "git push origin main",
  ]);
  expect(done(ran(`git tag -a v1 -m "${"long ".repeat(60)}"`))[0]).toHaveLength(160);
});

test("failed and aborted commands are not listed as done", () => {
  expect(done(ran("git push", "! [rejected] main -> main (fetch first)", 1))).toEqual([]);
  expect(done(ran("git push 2>&1 | tail -5", " ! [rejected] main -> main (fetch first)"))).toEqual([]);
  expect(
    done(toolRun("bash", { command: "git push" }, { output: "Command aborted", isError: true })),
  ).toEqual([]);
  expect(done(ran("npm publish && echo ok", "npm error code E403", 1))).toEqual([]);
  expect(done(ran("git push origin main; npm test", "AssertionError: x", 1))).toEqual([
    "git push origin main",
  ]);
});

test("in a failed chain, the commands before the last one count as done", () => {
  expect(done(ran("rm -rf data/old && npm test", "AssertionError: x", 1))).toEqual(["rm -rf data/old"]);
  expect(done(ran("cd src && rm a.ts b.ts && rmdir c", "", 0))).toEqual(["rm a.ts b.ts", "rmdir c"]);
});

test("an action shows the name that it created", () => {
  const [snapshot] = outcomesAfter(
    emptyRecord.outcomes,
    ran("cloud disk snapshot node-1 --label before-load", "snapshot snap-0a77c1 created (node-1)"),
  ).irreversible;
  expect(snapshot).toMatchObject({ result: "snapshot snap-0a77c1 created (node-1)" });
  const report = Array.from({ length: 9 }, (_, at) => `snap-0a77c${at} ok`).join("\n");
  expect(done(ran("cloud disk report", report))).toEqual([]);
  expect(done(ran('git commit -m "x"', "[main 5be1f20] x"))).toEqual([]);
});

test("a call of a server's tool that creates, sends or deletes is listed with its result", () => {
  const call = (name: string) => toolRun(name, { title: "Stale cache" }, { output: '{"number": 83}' });
  expect(outcomesAfter(emptyRecord.outcomes, call("mcp__forge__create_issue")).irreversible).toMatchObject([
    { command: "mcp__forge__create_issue Stale cache", result: '{"number": 83}' },
  ]);
  expect(done(call("mcp__mail__send_message"))).toHaveLength(1);
  expect(done(call("mcp__forge__list_issues"))).toEqual([]);
  expect(done(call("create_file"))).toEqual([]);
});

test("the same again is counted, with its last entry; other arguments are another command", () => {
  const messages = [
    ...ran("git push", "", 0, "a"),
    ...ran("git tag v1", "", 0, "b"),
    ...ran("git push", "", 0, "c"),
  ];
  expect(outcomesAfter(emptyRecord.outcomes, messages).irreversible).toEqual([
    { command: "git tag v1", times: 1, entryId: "b", result: undefined },
    { command: "git push", times: 2, entryId: "c", result: undefined },
  ]);
  expect(done([...ran("git tag v1.2.3"), ...ran("git tag v1.2.4")])).toEqual([
    "git tag v1.2.3",
    "git tag v1.2.4",
  ]);
});

test("text that is written to a file or a commit is no command", () => {
  const commit =
    'git add . && git commit -m "$(cat <<\'EOF\'\nrelease: it\'s "done"\n\ngit push\nEOF\n)" && git push origin dev';
  expect(done(ran(commit))).toEqual(["git push origin dev"]);
  expect(done(ran("cat > run.sh <<EOF\ngit push\nEOF\nchmod +x run.sh"))).toEqual([]);
});

test("a lookup with a new name in its output is no act, and the output of a chain names no command's result", () =>
  everyRow<[string, string]>([
    ["git grep -n load", "lib/a.js:4:class X"],
    ["git rev-parse HEAD", "3f9c2ab17d"],
    ["node --version", "v24.21.0"],
    ["go version", "go version go1.22.5 linux/amd64"],
    ["sqlite3 a.db .schema", "CREATE TABLE orders_v2 (id)"],
    ["npx autocannon localhost:3000", "requests p99_latency 12"],
  ])(([command, output]) => {
    expect(done(ran(command, output))).toEqual([]);
  }));

test("a line with a new name and an argument of the command is the command's result", () => {
  const [act] = outcomesAfter(
    emptyRecord.outcomes,
    ran("train start --name speech-300m", "created run q7x2m1d (speech-300m)"),
  ).irreversible;
  expect(act).toMatchObject({
    command: "train start --name speech-300m",
    result: "created run q7x2m1d (speech-300m)",
  });
});
