# SPDX-License-Identifier: BSD-3-Clause
# Completion for fish. The program says what may come next: --help=next:WORD (src/cmd/opt.h).

function __isotome_next
	set -l before (commandline -opc)
	set -l program $before[1]
	set -e before[1]
	set -l cur (commandline -ct)
	set -l option '' # of --name=value, with the dashes and the sign
	test "$before[1]" = help; and set before
	if string match -qr '^--[^=]+=' -- $cur
		set option (string replace -r '=.*' '=' -- $cur)
		set -a before (string replace = '' -- $option)
		set cur (string replace -r '^[^=]*=' '' -- $cur)
	end
	$program $before --help=next:$cur 2>/dev/null | while read -l -d \t word help
		switch $word
			case @file
				__fish_complete_path $cur | string replace -r -- '^' $option
			case @folder
				__fish_complete_directories $cur | string replace -r -- '^' $option
			case '*'
				printf '%s%s\t%s\n' $option $word $help
		end
	end
end
complete -c isotome -f -a '(__isotome_next)'
