"""`python -m fake_nvml`: the same as the command `fake-nvml`."""

from fake_nvml.cli import main

if __name__ == "__main__":
    main(prog_name="fake-nvml")
