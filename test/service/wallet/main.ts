/**
 * `npm run test:money -- --runs N --seed=S --path P --only "in memory"`: the money tests, more of them or one of them
 * again.
 */
import { runSeeded } from "../../support/seededRuns.ts"

runSeeded("test/service/wallet", "ATOLL_MONEY")
