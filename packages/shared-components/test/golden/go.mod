module berth.dev/shared-components/test/golden

go 1.26
